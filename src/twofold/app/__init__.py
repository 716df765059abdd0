"""The application: read a collection, cluster it, and write results and a report."""
