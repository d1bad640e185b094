SwaggerUIBundle({
  url: "/api/openapi.json",
  dom_id: "#docs",
  deepLinking: true,
  // Swagger UI sends the description to a validator on the internet unless this is null.
  validatorUrl: null,
});
