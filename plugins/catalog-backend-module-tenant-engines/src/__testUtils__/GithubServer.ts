import { TestServer } from '@internal/catalog-testing/TestServer';
import { json } from 'node:stream/consumers';

/** What one organization has, which its token alone may read. */
export interface GithubOrganization {
  token: string;
  /** The `catalog-info.yaml` of each repository. */
  repositories: { [name: string]: string };
}

/** A request to the server, with the token that came with it. */
export interface GithubRequest {
  organization: string;
  /** Of a file; nothing for the list of an organization's repositories. */
  file?: string;
  token?: string;
}

interface Answer {
  status: number;
  body: string | object;
}

const CONTENTS = /^\/api\/v3\/repos\/([^/]+)\/([^/]+)\/contents\/(.+)$/;
const BLOB = /^\/([^/]+)\/([^/]+)\/blob\/main\/(.+)$/;

/**
 * Stands in for a GitHub Enterprise server of private organizations: lists repositories by
 * GraphQL, serves their files by REST, and denies everything else as GitHub does. It keeps all
 * requests.
 */
export class GithubServer extends TestServer {
  readonly requests: GithubRequest[] = [];
  readonly #organizations: { [name: string]: GithubOrganization };

  constructor(organizations: { [name: string]: GithubOrganization }) {
    super(async (req, res) => {
      const [, token] = /^(?:bearer|token) (.+)$/i.exec(
        req.headers.authorization ?? '',
      ) ?? [undefined, undefined];
      const { pathname } = new URL(req.url ?? '', `http://${this.host}`);
      const answer =
        pathname === '/api/graphql'
          ? this.#list((await json(req)) as GraphqlRequest, token)
          : this.#read(pathname, token);
      res.statusCode = answer.status;
      const isText = typeof answer.body === 'string';
      res.setHeader('content-type', isText ? 'text/plain' : 'application/json');
      res.end(isText ? answer.body : JSON.stringify(answer.body));
    });
    this.#organizations = organizations;
  }

  /** An entry of `integrations.github` for this server. */
  integration(token: string) {
    const { host } = this;
    return {
      host,
      apiBaseUrl: `http://${host}/api/v3`,
      rawBaseUrl: `http://${host}/raw`,
      token,
    };
  }

  /** As a person copies it from the browser. */
  fileUrl(organization: string, repository: string, file: string): string {
    return `http://${this.host}/${organization}/${repository}/blob/main/${file}`;
  }

  /** The tokens with which the files or the list of an organization were asked for. */
  tokensFor(filter: Partial<GithubRequest>): (string | undefined)[] {
    const found = this.requests.filter(request =>
      Object.entries(filter).every(
        ([key, value]) => request[key as keyof GithubRequest] === value,
      ),
    );
    return [...new Set(found.map(({ token }) => token))];
  }

  #list({ variables: { org } }: GraphqlRequest, token?: string): Answer {
    this.requests.push({ organization: org, token });
    const found = this.#readable(org, token);
    const nodes = Object.keys(found?.repositories ?? {}).map(name => ({
      name,
      url: `http://${this.host}/${org}/${name}`,
      catalogInfoFile: null,
      isArchived: false,
      isFork: false,
      visibility: 'PRIVATE',
      repositoryTopics: { nodes: [] },
      defaultBranchRef: { name: 'main' },
    }));
    const pageInfo = { hasNextPage: false, endCursor: null };
    const repositoryOwner = found && {
      login: org,
      repositories: { nodes, pageInfo },
    };
    return {
      status: 200,
      body: { data: { repositoryOwner: repositoryOwner ?? null } },
    };
  }

  #read(pathname: string, token?: string): Answer {
    const [, organization, repository, file] = CONTENTS.exec(pathname) ??
      BLOB.exec(pathname) ?? [undefined, '', '', pathname];
    this.requests.push({ organization, file, token });
    const text =
      file === 'catalog-info.yaml' && CONTENTS.test(pathname)
        ? this.#readable(organization, token)?.repositories[repository]
        : undefined;
    return text === undefined
      ? { status: 404, body: { message: 'Not Found' } }
      : { status: 200, body: text };
  }

  #readable(
    organization: string,
    token: string | undefined,
  ): GithubOrganization | undefined {
    const found = this.#organizations[organization];
    return found?.token === token ? found : undefined;
  }
}

interface GraphqlRequest {
  variables: { org: string };
}
