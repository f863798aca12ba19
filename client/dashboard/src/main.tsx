import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './styles.css';
import { browserTransport, makeClients } from './api/clients';
import { Jobs } from './api/jobs';
import { Live } from './api/live';
import { browserStorage, keepToken, takeToken } from './api/token';
import { Store } from './model/store';
import { AppContext, type App } from './ui/app';
import { Root } from './ui/root';
import { startRouter } from './ui/router';
import { startTheme } from './ui/theme';

const token = new Store(takeToken(window.location, window.history, browserStorage()));
const clients = makeClients(browserTransport(() => token.value));
const live = new Live({ follow: (request, options) => clients.live.follow(request, options) });
const app: App = {
  clients,
  live,
  jobs: new Jobs(live),
  token,
  setToken(value) {
    keepToken(value, browserStorage());
    token.set(value);
    live.restart();
  },
};

// A link with a token may be opened in a tab that shows the dashboard already.
window.addEventListener('hashchange', () => {
  if (window.location.hash.startsWith('#token=')) app.setToken(takeToken(window.location, window.history, browserStorage()));
});
document.addEventListener('visibilitychange', () => live.setVisible(!document.hidden));
live.setVisible(!document.hidden);
startTheme();
startRouter();
render(
  <AppContext.Provider value={app}>
    <Root />
  </AppContext.Provider>,
  document.getElementById('app')!,
);
