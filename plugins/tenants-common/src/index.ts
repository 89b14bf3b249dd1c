/**
 * Types, permissions and the client of the registry of tenants.
 *
 * @packageDocumentation
 */

export * from './client';
export * from './permissions';
export type * from './types';
