"""How good this site's model is, on rows it held back. Everything here stays at the site."""
