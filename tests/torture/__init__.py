"""The torture campaign: kills, damage, hostile input, broken disks; `make torture MINUTES=30`."""
