"""The run folder: stages, dataset on disk, fingerprints, reports, and what reads them back."""
