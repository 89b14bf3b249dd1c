export { audited } from './audited';
export { holdAnswer } from './holdAnswer';
export { parseIfMatch } from './ifMatch';
export { measureOperations } from './measureOperations';
export {
  createOpenApiDocument,
  OPEN_API_PAGE_HEADERS,
  openApiAnswer,
  openApiHeader,
  type OpenApiOperations,
  openApiRef,
} from './openapi';
export {
  openApiErrorSchema,
  openApiQuery,
  openApiSchemas,
} from './openapiSchemas';
export { createBodyReader } from './readBody';
