// SPDX-License-Identifier: Apache-2.0
package io.thalamus.oip;

import com.fasterxml.jackson.core.JsonGenerator;
import io.thalamus.http.Access;
import io.thalamus.http.HttpExchange;
import io.thalamus.http.Route;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.protocol.Texts;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/** The routes of the protocol, there as long as there is a server of models. Thread-safe. */
@Component(service = Route.Provider.class, configurationPid = OipComponent.PID)
@Designate(ocd = OipSettings.class)
public final class OipComponent implements Route.Provider {
  /** The configuration, which nobody needs. */
  public static final String PID = "io.thalamus.oip";

  private static final String MODEL = "/v2/models/{model}";
  private static final String SHARED_MEMORY = "/v2/systemsharedmemory";
  private static final String CUDA_MEMORY = "/v2/cudasharedmemory";
  private static final String REGION = SHARED_MEMORY + "/region/{region}";

  private final InferenceServer server;
  private final Limits limits;
  private final Handlers handlers;
  private final List<Route> routes = new ArrayList<>();

  /** Called by the component runtime. */
  @Activate
  public OipComponent(@Reference InferenceServer server, OipSettings settings) {
    this.server = server;
    limits = new Limits(settings);
    handlers = new Handlers(limits);
    addHealth();
    addModels();
    addRepository();
    addSharedMemory();
    addRefused();
  }

  @Override
  public List<Route> routes() {
    return List.copyOf(routes);
  }

  /** Returns the bytes that requests have beside their bodies. */
  long held() {
    return limits.held();
  }

  private void add(String method, String path, Access access, Route.Handler handler) {
    routes.add(new Route(method, path, access, handler));
  }

  private void addHealth() {
    add(
        "GET",
        "/v2",
        Access.READ,
        handlers.of(call -> json -> Descriptions.server(json, server.metadata())));
    add("GET", "/v2/health/live", Access.OPEN, handlers.of(call -> live()));
    add("GET", "/v2/health/ready", Access.OPEN, handlers.of(call -> ready()));
  }

  private Handlers.Answer live() throws ServingException {
    if (!server.isLive()) {
      throw ServingException.soon(Failure.UNAVAILABLE, "the server does not live");
    }
    return json -> flag(json, "live");
  }

  private Handlers.Answer ready() throws ServingException {
    if (!server.isReady()) {
      String waiting =
          server.index().stream()
              .filter(each -> each.state() == ModelState.LOADING || !each.reason().isEmpty())
              .findFirst()
              .map(each -> ": " + describe(each))
              .orElse("");
      throw ServingException.soon(Failure.UNAVAILABLE, "the server is not ready" + waiting);
    }
    return json -> flag(json, "ready");
  }

  private static void flag(JsonGenerator json, String field) throws IOException {
    json.writeStartObject();
    json.writeBooleanField(field, true);
    json.writeEndObject();
  }

  private static String describe(IndexEntry entry) {
    String reason = entry.reason().isEmpty() ? "" : ", " + entry.reason();
    return "model '"
        + entry.name()
        + "' version "
        + entry.version()
        + " is "
        + entry.state()
        + reason;
  }

  private void addModels() {
    add(
        "GET",
        "/v2/models/stats",
        Access.READ,
        handlers.of(call -> statistics(Optional.empty(), Optional.empty())));
    for (boolean hasVersion : new boolean[] {false, true}) {
      String path = hasVersion ? MODEL + "/versions/{version}" : MODEL;
      add("GET", path, Access.READ, handlers.of(call -> metadata(call, hasVersion)));
      add("GET", path + "/ready", Access.READ, handlers.of(call -> modelReady(call, hasVersion)));
      add("GET", path + "/config", Access.READ, handlers.of(call -> config(call, hasVersion)));
      add(
          "GET",
          path + "/stats",
          Access.READ,
          handlers.of(
              call ->
                  statistics(Optional.of(call.part("model")), Handlers.version(call, hasVersion))));
      add("POST", path + "/infer", Access.INFER, new InferHandler(server, limits, hasVersion));
    }
  }

  private Handlers.Answer metadata(HttpExchange call, boolean hasVersion) throws ServingException {
    var metadata = server.metadata(call.part("model"), Handlers.version(call, hasVersion));
    return json -> Descriptions.model(json, metadata);
  }

  private Handlers.Answer config(HttpExchange call, boolean hasVersion) throws ServingException {
    var metadata = server.metadata(call.part("model"), Handlers.version(call, hasVersion));
    return json -> Descriptions.config(json, metadata);
  }

  private Handlers.Answer modelReady(HttpExchange call, boolean hasVersion)
      throws ServingException {
    String model = call.part("model");
    Optional<String> version = Handlers.version(call, hasVersion);
    if (!server.isReady(model, version)) {
      String why =
          server.index().stream()
              .filter(each -> each.name().equals(model))
              .filter(each -> version.isEmpty() || version.get().equals(each.version()))
              .reduce((first, second) -> second)
              .map(OipComponent::describe)
              .orElse("model " + Texts.quote(model) + " is not ready");
      throw ServingException.soon(Failure.UNAVAILABLE, why);
    }
    return json -> {
      json.writeStartObject();
      json.writeStringField("name", model);
      json.writeBooleanField("ready", true);
      json.writeEndObject();
    };
  }

  private Handlers.Answer statistics(Optional<String> model, Optional<String> version)
      throws ServingException {
    var statistics = server.statistics(model, version);
    return json -> Descriptions.statistics(json, statistics);
  }

  private void addRepository() {
    String model = "/v2/repository/models/{model}";
    add(
        "POST",
        "/v2/repository/index",
        Access.READ,
        handlers.withBody((call, body) -> index(body)));
    add("POST", model + "/load", Access.MANAGE, handlers.withBody(this::load));
    add("POST", model + "/unload", Access.MANAGE, handlers.withBody(this::unload));
  }

  private Handlers.Answer index(MemorySegment body) throws ServingException {
    boolean[] readyAlone = new boolean[1];
    JsonCursor.readObject(
        body,
        (json, key) -> {
          if (key.equals("ready")) {
            readyAlone[0] = json.flag("ready");
          }
        });
    List<IndexEntry> entries =
        server.index().stream()
            .filter(each -> !readyAlone[0] || each.state() == ModelState.READY)
            .toList();
    return json -> Descriptions.index(json, entries);
  }

  private Handlers.Answer load(HttpExchange call, MemorySegment body) throws ServingException {
    checkParameters(
        body,
        key -> {
          if (key.equals("config") || key.startsWith("file:")) {
            throw Failures.unsupported(
                "parameter "
                    + Texts.quote(key)
                    + " is not taken: models are files of the server's folder alone");
          }
        });
    server.load(call.part("model"));
    return OipComponent::nothing;
  }

  private Handlers.Answer unload(HttpExchange call, MemorySegment body) throws ServingException {
    // No model has others that depend on it, so that unload_dependents changes nothing.
    checkParameters(body, key -> {});
    server.unload(call.part("model"));
    return OipComponent::nothing;
  }

  /** Looks at the names of parameters. */
  @FunctionalInterface
  private interface NameCheck {
    void check(String key) throws ServingException;
  }

  private static void checkParameters(MemorySegment body, NameCheck check) throws ServingException {
    JsonCursor.readObject(
        body,
        (json, key) -> {
          if (key.equals("parameters")) {
            json.object("parameters", (inner, name) -> check.check(name));
          }
        });
  }

  private static void none(JsonGenerator json) throws IOException {
    json.writeStartArray();
    json.writeEndArray();
  }

  private static void nothing(JsonGenerator json) throws IOException {
    json.writeStartObject();
    json.writeEndObject();
  }

  private void addSharedMemory() {
    add("GET", SHARED_MEMORY + "/status", Access.READ, handlers.of(call -> regions("")));
    add("GET", REGION + "/status", Access.READ, handlers.of(call -> regions(call.part("region"))));
    add("POST", REGION + "/register", Access.MANAGE, handlers.withBody(this::register));
    add("POST", SHARED_MEMORY + "/unregister", Access.MANAGE, handlers.of(call -> unregister("")));
    add(
        "POST",
        REGION + "/unregister",
        Access.MANAGE,
        handlers.of(call -> unregister(call.part("region"))));
    // There are none of CUDA: clients that look for them, or forget all before they begin, may.
    add("GET", CUDA_MEMORY + "/status", Access.READ, handlers.of(call -> OipComponent::none));
    for (String forgotten : List.of("/unregister", "/region/{region}/unregister")) {
      add("POST", CUDA_MEMORY + forgotten, Access.READ, handlers.of(c -> OipComponent::nothing));
    }
    for (String method : List.of("GET", "POST")) {
      add(method, CUDA_MEMORY + "/region/{rest...}", Access.READ, handlers.of(call -> noCuda()));
    }
  }

  /** Triton's calls that are known and not done: their clients learn it in one line. */
  private void addRefused() {
    for (String method : List.of("GET", "POST")) {
      refuse(method, "/v2/logging", "logging", "settings of the log are those of the server");
      for (String path : List.of("/v2/trace/setting", MODEL + "/trace/setting")) {
        refuse(method, path, "trace", "expected the header traceparent of a request");
      }
    }
    for (String path : List.of(MODEL, MODEL + "/versions/{version}")) {
      refuse("POST", path + "/generate", "generate", "expected infer");
      refuse("POST", path + "/generate_stream", "generate", "expected infer");
    }
  }

  private void refuse(String method, String path, String extension, String instead) {
    add(
        method,
        path,
        Access.READ,
        handlers.of(
            call -> {
              throw Failures.unsupported(
                  "the extension " + extension + " is not done here: " + instead);
            }));
  }

  private static Handlers.Answer noCuda() throws ServingException {
    throw Failures.unsupported(
        "CUDA shared memory is not done here: expected /v2/systemsharedmemory");
  }

  private Handlers.Answer regions(String name) throws ServingException {
    var regions = server.sharedRegions().status(name);
    return json -> Descriptions.regions(json, regions);
  }

  private Handlers.Answer unregister(String name) {
    server.sharedRegions().unregister(name);
    return OipComponent::nothing;
  }

  private Handlers.Answer register(HttpExchange call, MemorySegment body) throws ServingException {
    Registration registration = new Registration();
    JsonCursor.readObject(body, registration::field);
    if (registration.key == null) {
      throw ServingException.invalid("key is missing: expected the name of a shared memory object");
    }
    if (registration.byteSize.isEmpty()) {
      throw ServingException.invalid("byte_size is missing: expected the bytes of the region");
    }
    server
        .sharedRegions()
        .register(
            call.part("region"),
            registration.key,
            registration.offset,
            registration.byteSize.getAsLong());
    return OipComponent::nothing;
  }

  /** The body of a registration. */
  private static final class Registration {
    private String key;
    private long offset;
    private OptionalLong byteSize = OptionalLong.empty();

    void field(JsonCursor json, String field) throws IOException, ServingException {
      switch (field) {
        case "key" -> key = json.text("key");
        case "offset" -> offset = json.natural("offset");
        case "byte_size" -> byteSize = OptionalLong.of(json.natural("byte_size"));
        default -> {
          // Not known here.
        }
      }
    }
  }
}
