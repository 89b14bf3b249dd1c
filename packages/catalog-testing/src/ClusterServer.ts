import { TestServer } from './TestServer';

/**
 * Stands in for the API servers of Kubernetes clusters, each below a path of its own: it has one
 * running pod, of a name that is given, and nothing else.
 */
export class ClusterServer extends TestServer {
  /** @param podOf - the name of the pod of the cluster at a path such as `/acme` */
  constructor(podOf: (cluster: string) => string) {
    super((req, res) => {
      const { pathname } = new URL(req.url ?? '', 'http://cluster');
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
