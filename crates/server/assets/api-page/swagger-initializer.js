// The page of the interface. "Try it out" begins with values that work: the project of whoever looks at the page, the last
// 30 days, and the ids of what was made or listed here before.
(() => {
  const day = (offset) => new Date(Date.now() + offset * 86400000).toISOString().slice(0, 10);

  // The project that a link to this page names, or else the first that the dashboard shows to whoever is signed in.
  const currentProject = async () => {
    const named = new URLSearchParams(location.search).get("project");
    if (named) return named;
    try {
      const answer = await fetch("/", { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const link = page.querySelector('a[href^="/p/"]');
      return link ? decodeURIComponent(link.getAttribute("href").split("/")[2]) : null;
    } catch {
      return null;
    }
  };

  // Only what reads or makes something: changing or deleting a project must not be one click away.
  const operations = (spec) =>
    Object.entries(spec.paths).flatMap(([path, methods]) =>
      ["get", "post"].filter((method) => methods[method]).map((method) => [path, methods[method], method]),
    );

  const eachParameter = (spec, act) =>
    operations(spec).forEach(([path, operation, method]) =>
      (operation.parameters || []).forEach((it) => act(it, path, method)),
    );

  // What an id that was seen is put into: what only looks, and what adds to it. Nothing is cancelled, archived, paused or
  // revoked by one click.
  const takesSeenIds = (path, method) => method === "get" || /\/(message|pull-request|test)$/.test(path);

  const putDates = (spec) =>
    eachParameter(spec, (it) => {
      if (it.name === "dateFrom") it.example = day(-30);
      if (it.name === "dateTo") it.example = day(1);
    });

  const putProject = (spec, project) => {
    eachParameter(spec, (it) => {
      if (it.name === "projectId" && it.in === "path") it.example = project;
      if (it.name === "project" && it.in === "path") it.example = `${project}.gif`;
    });
    for (const [, operation] of operations(spec)) {
      const body = operation.requestBody?.content?.["application/json"]?.example;
      if (body?.projectId) body.projectId = project;
      if (body?.d) body.d = project;
    }
  };

  // What an answer tells of ids: the parameter that takes them, by the path that was asked.
  const found = (path, body) => {
    const first = (list) => (Array.isArray(list) ? list[0]?.id : undefined);
    const rules = [
      [/^\/v2\/agent\/[^/]+\/jobs$/, ["id", "/v2/", first(body.jobs)]],
      [/^\/v2\/agent\/[^/]+\/job$/, ["id", "/v2/", body.id]],
      [/^\/v1\/webhooks\/[^/]+$/, ["webhookId", "/v1/", body.id ?? first(body.webhooks)]],
      [/^\/v1\/webhooks\/[^/]+\/[^/]+\/deliveries$/, ["deliveryId", "/v1/", first(body.deliveries)]],
      [/^\/v1\/admin\/keys$/, ["keyId", "/v1/", body.id ?? first(body.keys)]],
      [/^\/v1\/admin\/users$/, ["userId", "/v1/", first(body.users)]],
      [/^\/v1\/admin\/projects\/[^/]+\/invitations$/, ["invitationId", "/v1/", body.id ?? first(body.invitations)]],
    ];
    const rule = rules.find(([pattern]) => pattern.test(path));
    return rule && rule[1][2] ? rule[1] : null;
  };

  window.addEventListener("load", async () => {
    const [spec, project] = await Promise.all([
      fetch("/openapi.json").then((answer) => answer.json()).catch(() => null),
      currentProject(),
    ]);
    if (spec) {
      putDates(spec);
      if (project) putProject(spec, project);
    }
    const learn = (answer) => {
      if (!spec || !answer.ok || typeof answer.body !== "object" || answer.body === null) return;
      const told = found(new URL(answer.url, location.href).pathname, answer.body);
      if (!told) return;
      const [name, area, id] = told;
      eachParameter(spec, (it, path, method) => {
        const isOne = it.name === name && it.in === "path" && path.startsWith(area);
        if (isOne && takesSeenIds(path, method)) it.example = id;
      });
      ui.specActions.updateSpec(JSON.stringify(spec));
    };
    const ui = SwaggerUIBundle({
      // Without a description of our own the page fetches it itself, and says what went wrong.
      ...(spec ? { spec } : { url: "/openapi.json" }),
      dom_id: "#swagger-ui",
      deepLinking: true,
      tryItOutEnabled: true,
      presets: [SwaggerUIBundle.presets.apis, SwaggerUIStandalonePreset],
      plugins: [SwaggerUIBundle.plugins.DownloadUrl],
      layout: "StandaloneLayout",
      responseInterceptor: (answer) => {
        setTimeout(() => learn(answer), 0);
        return answer;
      },
    });
  });
})();
