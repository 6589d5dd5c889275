"""What Prometheus would scrape: dcgm-exporter per node, and the metrics endpoints of Dynamo's and KAI's pods."""
