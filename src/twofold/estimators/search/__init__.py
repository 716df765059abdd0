"""The search of AutoTSNMF: candidates, their score, the number of clusters."""
