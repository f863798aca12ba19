// The dashboard in a real browser, on a real daemon with real jobs.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { AXE, chart, Daemon, drawn, openBrowser, openPage, poll, range } from './rig.mjs';

let daemon, browser, context, done, long, scripted;
const pages = [];
const LONG = ['--epochs', 100000, '--batch-size', 64, '--checkpoint-every', 200, '--name', 'long'];

async function open(place, forgive) {
  const page = await openPage(context, daemon, place, forgive);
  pages.push(page);
  return page;
}

before(async () => {
  daemon = await Daemon.start();
  browser = await openBrowser();
  done = await daemon.trainable('--epochs', 4, '--batch-size', 64, '--watch-every', 10, '--tag', 'lab', '--name', 'finished');
  await daemon.waitState(done, 'SUCCEEDED', 60_000);
  scripted = await daemon.trainable('--epochs', 1, '--name', '<script>document.title = "taken"</script><img src=x onerror=alert(1)>');
  await daemon.waitState(scripted, 'SUCCEEDED', 60_000);
  long = await daemon.trainable(...LONG);
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
});

after(async () => {
  await browser?.close();
  await daemon?.close();
});

afterEach(async () => {
  const faults = pages.flatMap((page) => page.faults);
  for (const page of pages.splice(0)) await page.close();
  assert.deepEqual(faults, []);
});

test('takes the token out of the address, and asks for it when there is none', async () => {
  const page = await open('/jobs');
  await page.getByRole('link', { name: 'finished' }).waitFor();
  assert.equal(await page.evaluate(() => location.hash), '#/jobs');

  const other = await browser.newContext();
  const fresh = await other.newPage();
  await fresh.goto(daemon.url);
  await fresh.getByLabel('Token').fill('wrong');
  await fresh.getByRole('button', { name: 'Log in' }).click();
  await fresh.getByText('The daemon refused this token.').waitFor();
  await fresh.getByLabel('Token').fill(daemon.token);
  await fresh.keyboard.press('Enter');
  await fresh.getByRole('link', { name: 'finished' }).waitFor();
  await other.close();
});

test('a job name with markup is text', async () => {
  const page = await open('/jobs');
  await page.getByRole('link', { name: '<script>' }).click();
  await page.getByRole('heading', { level: 1, name: '<script>document.title' }).waitFor();
  await page.getByRole('link', { name: 'Config' }).click();
  await page.getByRole('cell', { name: '<script>' }).waitFor();
  assert.equal(await page.locator('main script, main img').count(), 0);
  assert.match(await page.title(), /^<script>/);
});

test('shows every point of a finished job exactly', async () => {
  const page = await open(`/jobs/${done}`);
  const card = await chart(page, 'loss');
  const wanted = await daemon.points(done, 'loss');
  assert.ok(wanted.length > 50);
  await poll(async () => (await drawn(card)).length === wanted.length, 'all points are drawn');
  assert.deepEqual(await drawn(card), wanted);

  const [download] = await Promise.all([page.waitForEvent('download'), card.getByRole('button', { name: 'as CSV' }).click()]);
  const { readFileSync } = await import('node:fs');
  const rows = readFileSync(await download.path(), 'utf8').trim().split('\n').slice(1).map((row) => row.split(','));
  assert.deepEqual(rows.map((row) => [Number(row[1]), Number(row[3])]), wanted);
  const [picture] = await Promise.all([page.waitForEvent('download'), card.getByRole('button', { name: 'as PNG' }).click()]);
  assert.equal(readFileSync(await picture.path()).subarray(1, 4).toString(), 'PNG');
});

test('a live point reaches the pixels', async () => {
  const page = await open(`/jobs/${long}`);
  const card = await chart(page, 'loss');
  const newest = async () => (await drawn(card)).at(-1)?.[0] ?? 0;
  const before = await poll(newest, 'a point is drawn');
  const picture = await card.locator('.plot canvas').screenshot();
  await poll(async () => (await newest()) > before, 'a newer point is drawn');
  assert.notDeepEqual(await card.locator('.plot canvas').screenshot(), picture);
});

test('zoom by mouse asks for finer buckets, on all charts, and 0 shows everything again', async () => {
  const page = await open(`/jobs/${done}`);
  const [card, other] = [await chart(page, 'loss'), await chart(page, 'acc')];
  await poll(async () => (await drawn(card)).length > 0, 'points are drawn');
  const queries = [];
  page.on('request', (request) => request.url().endsWith('/Query') && queries.push(request.url()));
  const box = await card.locator('.u-over').boundingBox();
  await page.mouse.move(box.x + box.width * 0.25, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 60, { steps: 4 });
  await page.mouse.up();
  const [first, last] = (await daemon.points(done, 'loss')).map(([step]) => step).reduce(([a, b], s) => [Math.min(a, s), Math.max(b, s)], [Infinity, 0]);
  const at = (share) => first + share * (last - first);
  await poll(async () => Math.abs((await range(card))[0] - at(0.25)) < 2 && Math.abs((await range(card))[1] - at(0.5)) < 2, 'the chart is zoomed');
  await poll(async () => (await drawn(card)).every(([x]) => x >= at(0.25) - 2 && x <= at(0.5) + 2), 'only the range is drawn');
  assert.deepEqual(await range(other), await range(card));
  assert.ok(queries.length >= 2);
  await card.locator('.plot').focus();
  await page.keyboard.press('0');
  await poll(async () => (await range(card))[1] === last, 'everything is shown');
});

test('the daemon is killed and comes back: stale, then neither gap nor duplicate', async () => {
  const page = await open(`/jobs/${long}`, /ERR_|Failed to load|network/i);
  const card = await chart(page, 'loss');
  await poll(async () => (await drawn(card)).length > 0, 'points are drawn');
  await daemon.kill();
  await page.getByText('Stale since').waitFor();
  await daemon.run();
  await page.getByText('Live', { exact: true }).waitFor({ timeout: 20_000 });
  await poll(async () => (await drawn(card)).at(-1)[0] > 120, 'enough points have come', 120_000);
  // The job is stopped, so that both sides hold still.
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel the job' }).click();
  await page.locator('.state', { hasText: 'Cancelled' }).waitFor({ timeout: 30_000 });
  assert.equal(await daemon.state(long), 'CANCELLED');
  const wanted = await daemon.points(long, 'loss');
  const steps = wanted.map(([step]) => step);
  assert.deepEqual(steps, steps.map((_, i) => i + 1));
  await zoomTo(page, card, steps.length - 90, steps.length);
  const shown = () => drawn(card).then((points) => points.filter(([x]) => x > steps.length - 80));
  await poll(async () => (await shown()).length === 80, 'the last 80 points are drawn');
  assert.deepEqual(await shown(), wanted.slice(-80));
});

// By the keyboard: the cursor to the newest point, then closer until the range is narrower than wanted.
async function zoomTo(page, card, from, to) {
  await card.locator('.plot').focus();
  for (let i = 0; i < 40; ++i) {
    const [low, high] = await range(card);
    if (high - low < (to - from) * 1.9) return;
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('+');
    await poll(async () => (await range(card))[0] !== low, 'zoomed');
  }
}

test('resume by click goes on as a second attempt, live', async () => {
  const page = await open(`/jobs/${long}`);
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume the job' }).click();
  await page.getByText(/^long is (queued|starting)\.$/).waitFor();
  await page.locator('.state', { hasText: 'Running' }).waitFor({ timeout: 30_000 });
  const card = await chart(page, 'loss');
  const newest = async () => (await drawn(card)).at(-1)?.[0] ?? 0;
  const now = await poll(newest, 'a point is drawn');
  await poll(async () => (await newest()) > now, 'a newer point is drawn');
  await page.getByRole('link', { name: 'Events' }).click();
  await page.getByText('by the client').or(page.locator('.timeline li')).first().waitFor();
  await page.getByRole('row', { name: /^2 alive/ }).waitFor();
});

test('two tabs follow at once; a hidden one closes its stream', async () => {
  const [one, two] = [await open('/jobs'), await open(`/jobs/${long}`)];
  await one.getByRole('row', { name: 'long' }).getByText('Running').waitFor();
  await two.locator('.state', { hasText: 'Running' }).waitFor();
  const hide = (hidden) =>
    two.evaluate((value) => {
      Object.defineProperty(document, 'hidden', { value, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await hide(true);
  await two.getByText('Paused while hidden').waitFor();
  await hide(false);
  await two.getByText('Live', { exact: true }).waitFor();
});

test('the keyboard alone: filter, open, confirm', async () => {
  const page = await open('/jobs');
  await page.getByRole('link', { name: 'finished' }).waitFor();
  await page.keyboard.press('?');
  await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('/');
  await page.keyboard.type('long');
  await poll(async () => (await page.locator('table.jobs tbody tr').count()) === 1, 'one row is left');
  const link = page.getByRole('link', { name: 'long' });
  for (let i = 0; i < 30 && !(await link.evaluate((e) => e === document.activeElement)); ++i) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const cancel = page.getByRole('button', { name: 'Cancel' });
  await cancel.waitFor();
  for (let i = 0; i < 30 && !(await cancel.evaluate((e) => e === document.activeElement)); ++i) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByRole('dialog', { name: 'Cancel this job?' }).waitFor();
  for (let i = 0; i < 10 && !(await page.evaluate(() => document.activeElement?.textContent === 'Cancel the job')); ++i) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.locator('.state', { hasText: 'Cancelled' }).waitFor({ timeout: 30_000 });
});

test('the form shows what the daemon refuses beside the field, and submits a copy', async () => {
  const page = await open(`/submit?from=${done}`);
  const rate = page.getByLabel('learning rate');
  await poll(async () => (await rate.inputValue()) === '0.001', 'the form is filled');
  await rate.fill('-1');
  await page.locator('[id="field-training.lr-error"]').waitFor();
  const refused = await daemon.ctl('submit', '--mode', 'pretrain', '--lr', '-1', '--dry-run').then(() => '', (error) => error.stderr);
  const shown = await page.locator('[id="field-training.lr-error"]').textContent();
  assert.ok(refused.includes(shown), `${refused} has ${shown}`);
  await rate.fill('fast');
  await page.getByText('“fast” is no number').waitFor();
  await rate.fill('0.002');
  await poll(async () => (await page.locator('[aria-invalid="true"]').count()) === 0, 'nothing is refused');
  await page.locator('[id="field-name"]').fill('the copy');
  await page.getByRole('button', { name: 'Submit', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'the copy' }).waitFor();
  const id = await page.evaluate(() => location.hash.split('/')[2]);
  assert.equal((await daemon.job(id)).spec.training.lr, 0.002);
  assert.equal((await daemon.job(id)).spec.training.epochs, 4);
});

test('compares jobs from the table and groups them', async () => {
  const page = await open('/jobs');
  await page.getByRole('checkbox', { name: 'Choose finished' }).check();
  await page.getByRole('checkbox', { name: 'Choose the copy' }).check();
  await page.getByRole('link', { name: 'Compare 2' }).click();
  const card = await chart(page, 'loss');
  const columns = () => card.locator('.plot').evaluate((host) => host.plot.data.length);
  await poll(async () => (await columns()) === 9, 'two lines are drawn');
  await page.getByLabel('Group by').selectOption('training.lr');
  await card.getByText('0.002 (1)').first().waitFor();
  await page.reload();
  await card.getByText('0.002 (1)').first().waitFor();
});

test('no serious fault for assistive tools, in light and dark', async () => {
  const places = ['/jobs', `/jobs/${done}`, `/jobs/${done}/config`, `/jobs/${done}/events`, `/jobs/${done}/logs`, `/jobs/${done}/checkpoints`, `/jobs/${done}/histograms`, `/jobs/${done}/texts`, `/compare?ids=${done}`, '/submit'];
  for (const colorScheme of ['light', 'dark']) {
    const other = await browser.newContext({ colorScheme, bypassCSP: true });
    for (const place of places) {
      const page = await openPage(other, daemon, place);
      await page.locator('h1').waitFor();
      await page.evaluate(AXE);
      const { violations } = await page.evaluate(() => window.axe.run());
      const serious = violations.filter((v) => ['serious', 'critical'].includes(v.impact));
      assert.deepEqual(serious.map((v) => `${place} ${colorScheme} ${v.id}: ${v.nodes[0].html} ${v.nodes[0].failureSummary}`), []);
      await page.close();
    }
    await other.close();
  }
});

test('at 390 pixels nothing sticks out', async () => {
  const other = await browser.newContext({ viewport: { width: 390, height: 844 } });
  for (const place of ['/jobs', `/jobs/${done}`, `/jobs/${done}/config`, `/jobs/${done}/events`, `/compare?ids=${done}`, '/submit']) {
    const page = await openPage(other, daemon, place);
    await page.locator('h1').waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, place);
    await page.close();
  }
  await other.close();
});

test('200 jobs: the table answers within 100 ms of a key', async () => {
  // They queue behind a job that holds both slots.
  await daemon.submit('--mode', 'pretrain', '--name', 'holds', '--nproc', 2, '--epochs', 1000);
  for (let i = 0; i < 200; i += 10) await Promise.all(Array.from({ length: 10 }, (_, k) => daemon.trainable('--name', `many-${i + k}-of-them`)));
  const page = await open('/jobs');
  await page.getByText('Page 1 of').waitFor();
  const took = await page.evaluate(async () => {
    const input = document.querySelector('[data-filter]');
    const start = performance.now();
    input.value = 'many-17-of-them';
    input.dispatchEvent(new Event('input', { bubbles: true }));
    while (document.querySelectorAll('table.jobs tbody tr').length > 1 && performance.now() - start < 5000) await new Promise(requestAnimationFrame);
    return performance.now() - start;
  });
  assert.equal(await page.locator('table.jobs tbody tr').count(), 1);
  assert.ok(took < 100, `${took} ms`);
});
