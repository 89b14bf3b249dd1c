/**
 * Types, permissions and the client of the registry of tenants.
 *
 * @packageDocumentation
 */

export * from './client';
export * from './permissions';
export * from './roles';
export * from './schemas';
export * from './shares';
export type * from './types';
