/** The user whom the guest's token names, and who owns everything. */
export const USER = 'user:default/guest';

/** How many connections each server may have to its database. */
export const POOL_SIZE = 10;
