"""The MQTT stage: events to a broker of the operator's, with Home Assistant discovery."""
