"""The sink: recognitions from Kafka to ClickHouse, in batches."""
