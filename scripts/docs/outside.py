"""Pages that live outside docs/ but belong to the site, and links from docs/ to files that do not."""

import re
from pathlib import Path
from posixpath import normpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = {  # in the repository: in the site
    "crypto/README.md": "crypto.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "README.md": "index.md",
}
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<target>(?!https?:|#|mailto:)[^)#\s]+)(?P<anchor>#[^)]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, page in PAGES.items():
        if files.get_file_from_path(page) is None:
            text = (ROOT / source).read_text(encoding="utf-8")
            files.append(File.generated(config, page, content=links_within_the_site(text, Path(source).parent, files)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    if page.file.src_uri in PAGES.values() and page.file.generated_by:
        return markdown
    return links_within_the_site(markdown, Path("docs") / Path(page.file.src_uri).parent, files)


def links_within_the_site(markdown: str, folder: Path, files: Files) -> str:
    """A link to a page leads there; one to a file of the repository that is no page becomes its text."""

    def replace(link: re.Match[str]) -> str:
        place = normpath((folder / link["target"]).as_posix())
        page = PAGES.get(place) or place.removeprefix("docs/")
        known = page in PAGES.values() or files.get_file_from_path(page) is not None
        if not place.startswith("docs/") and place not in PAGES:
            return link["text"] if link["text"].startswith("`") else f"`{link['text']}`"
        depth = "../" * len(folder.relative_to("docs").parts) if folder.is_relative_to("docs") else ""
        return f"[{link['text']}]({depth}{page}{link['anchor'] or ''})" if known else link[0]

    return _LINK.sub(replace, markdown)
