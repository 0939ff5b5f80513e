"""nanogram: kernel machines that weigh almost nothing."""
