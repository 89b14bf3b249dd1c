export { exposeHeaders, sendPage, setLocation } from './answers';
export { audited } from './audited';
export { holdAnswer } from './holdAnswer';
export {
  idOfAttempts,
  openApiIdempotencyKey,
  parseIdempotencyKey,
} from './idempotencyKey';
export { parseDemands, parseIfMatch } from './ifMatch';
export { measureOperations } from './measureOperations';
export {
  createOpenApiDocument,
  openApiAnswer,
  openApiHeader,
  type OpenApiOperations,
  openApiPage,
  openApiRef,
} from './openapi';
export {
  openApiQuery,
  openApiSchemas,
  type SchemaNameOf,
} from './openapiSchemas';
export { addressOf, readQuery } from './query';
export { createBodyReader } from './readBody';
