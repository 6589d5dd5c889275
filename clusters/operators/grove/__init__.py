"""Grove: PodCliqueSet → PodCliques, PodGangs, pods, pod groups."""
