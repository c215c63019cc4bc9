"""Pages that live outside docs/ but belong to the site, and links from docs/ to files that do not."""

import re
from pathlib import Path
from posixpath import normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
EXAMPLES = ("heart_hospitals", "wearables_har", "imaging")
PAGES = {  # in the repository: in the site
    "crypto/README.md": "crypto.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
    **{f"examples/{name}/README.md": f"examples/{name}.md" for name in EXAMPLES},
}
PICTURES = {  # the same path in both
    path.relative_to(ROOT).as_posix() for name in EXAMPLES for path in (ROOT / "examples" / name).glob("*.png")
}
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>(?!https?:|#|mailto:)[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for picture in sorted(PICTURES):
        files.append(File.generated(config, picture, content=(ROOT / picture).read_bytes()))
    for source, page in PAGES.items():
        if files.get_file_from_path(page) is None:
            text = (ROOT / source).read_text(encoding="utf-8")
            written = links_within_the_site(text, Path(source).parent, page, files)
            files.append(File.generated(config, page, content=written))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri in PAGES.values() and page.file.generated_by:
        return markdown
    return links_within_the_site(markdown, Path("docs") / Path(page.file.src_uri).parent, page.file.src_uri, files)


def links_within_the_site(markdown: str, folder: Path, own: str, files: Files) -> str:
    """A link to a page or picture leads there, from the page ``own``; one to a file of the repository that is neither
    becomes its text."""

    def replace(link: re.Match[str]) -> str:
        place = normpath((folder / link["target"]).as_posix())
        page = PAGES.get(place) or place.removeprefix("docs/")
        known = page in PAGES.values() or page in PICTURES or files.get_file_from_path(page) is not None
        if not place.startswith("docs/") and place not in PAGES and place not in PICTURES:
            return link["text"] if link["text"].startswith("`") else f"`{link['text']}`"
        target = relpath(page, Path(own).parent.as_posix())
        return f"[{link['text']}]({target}{link['anchor'] or ''})" if known else link[0]

    return _LINK.sub(replace, markdown)
