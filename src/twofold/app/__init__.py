"""From a folder to a page: read a collection, cluster it, write and show results."""
