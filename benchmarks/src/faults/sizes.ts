import {
  bouncerCrash,
  type Fault,
  FAULTS,
  FAULTS_BEHIND_BOUNCER,
} from './faults';

/** How much is asked, of how many, and for how long a fault lasts. */
export interface Size {
  tenants: number;
  /** Of each tenant, beside those that are written meanwhile. */
  entities: number;
  /** Clients that ask for entities, each for one after the other. */
  readers: number;
  /** Clients that change entities and read them again. */
  writers: number;
  /** Seconds of ordinary load before a fault. */
  before: number;
  /** Seconds for which a fault lasts, where that is ours to say. */
  lasting: number;
  /** Seconds of ordinary load once all clients are answered again. */
  after: number;
  faults: Fault[];
  /** With PgBouncer in between. */
  faultsBehindBouncer: Fault[];
}

export const FULL: Size = {
  tenants: 20,
  entities: 200,
  readers: 24,
  writers: 5,
  before: 3,
  lasting: 5,
  after: 3,
  faults: FAULTS,
  faultsBehindBouncer: FAULTS_BEHIND_BOUNCER,
};

export const SHORT: Size = {
  tenants: 3,
  entities: 20,
  readers: 5,
  writers: 2,
  before: 0.1,
  lasting: 0.5,
  after: 0.1,
  faults: FAULTS,
  faultsBehindBouncer: [bouncerCrash],
};
