export { audited } from './audited';
export { holdAnswer } from './holdAnswer';
export { parseIfMatch } from './ifMatch';
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
export { createBodyReader } from './readBody';
