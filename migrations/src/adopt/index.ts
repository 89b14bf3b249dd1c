export { adopt } from './adopt';
export { fillParents } from './parents';
export { readAdoptionStatus } from './readAdoption';
export type { AdoptionStatus } from './readAdoption';
