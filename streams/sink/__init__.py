"""The sink: recognitions and what follows from them, from Kafka to ClickHouse in batches."""
