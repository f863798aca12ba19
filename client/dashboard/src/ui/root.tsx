import { useApp } from './app';
import { Login } from './login';
import { route } from './router';
import { Shell } from './shell';
import { useStore } from './use_store';
import { ComparePage } from '../pages/compare';
import { JobPage } from '../pages/job';
import { JobsPage } from '../pages/jobs';
import { SubmitPage } from '../pages/submit';

function Page() {
  const { path, params } = useStore(route);
  const [page = 'jobs', id] = path;
  if (page === 'jobs' && id !== undefined) return <JobPage key={id} id={id} tab={path[2] ?? 'metrics'} params={params} />;
  if (page === 'jobs') return <JobsPage params={params} />;
  if (page === 'compare') return <ComparePage params={params} />;
  if (page === 'submit') return <SubmitPage key={params.toString()} params={params} />;
  return (
    <p class="empty">
      There is no page “{page}”. <a href="#/jobs">Jobs</a>
    </p>
  );
}

export function Root() {
  const { live, token } = useApp();
  const status = useStore(live.status);
  const has = useStore(token) !== '';
  if (!has || status.kind === 'refused') return <Login key={String(has)} refused={has} />;
  return (
    <Shell>
      <Page />
    </Shell>
  );
}
