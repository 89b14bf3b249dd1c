/**
 * The operator's commands that work by the HTTP interface.
 *
 * @packageDocumentation
 */

export { main as applyTenants } from './apply/main';
