export { audited } from './audited';
export { measureOperations } from './measureOperations';
export { createBodyReader } from './readBody';
