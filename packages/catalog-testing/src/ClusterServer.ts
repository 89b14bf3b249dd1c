import { TestServer } from './TestServer';

/** As many calls as tests look at: a portal in development is asked for days. */
const KEPT_CALLS = 1_000;

/** What a cluster was asked for, and with which credentials. */
export interface ClusterCall {
  path: string;
  authorization?: string;
}

/**
 * Stands in for the API servers of Kubernetes clusters, each below a path of its own: it has one
 * running pod, of a name that is given, and nothing else.
 */
export class ClusterServer extends TestServer {
  readonly calls: ClusterCall[] = [];

  /** @param podOf - the name of the pod of the cluster at a path such as `/acme` */
  constructor(podOf: (cluster: string) => string) {
    super((req, res) => {
      const { authorization } = req.headers;
      const { pathname } = new URL(req.url ?? '', 'http://cluster');
      this.calls.push({ path: pathname, authorization });
      if (this.calls.length > KEPT_CALLS) {
        this.calls.shift();
      }
      const [, cluster, resource] =
        /^(\/[^/]+)\/apis?\/.*?([^/]+)$/.exec(pathname) ?? [];
      res.statusCode = cluster ? 200 : 404;
      res.setHeader('content-type', 'application/json');
      res.end(
        JSON.stringify({
          kind: 'List',
          items:
            resource === 'pods' && !pathname.includes('metrics')
              ? [pod(podOf(cluster))]
              : [],
        }),
      );
    });
  }
}

function pod(name: string) {
  return {
    metadata: { name, namespace: 'default', uid: name, labels: {} },
    spec: { containers: [{ name: 'app', image: 'app' }] },
    status: {
      phase: 'Running',
      conditions: [],
      containerStatuses: [
        { name: 'app', ready: true, restartCount: 0, state: { running: {} } },
      ],
    },
  };
}
