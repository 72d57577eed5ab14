// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.command;

import io.thalamus.console.Candidates;
import io.thalamus.console.Candidates.Kind;
import io.thalamus.console.Command;
import io.thalamus.console.CommandException;
import io.thalamus.console.Invocation;
import io.thalamus.console.Result;
import io.thalamus.console.Syntax;
import io.thalamus.console.settings.DeclaredSettings;
import io.thalamus.console.settings.Setting;
import io.thalamus.console.text.Style;
import io.thalamus.http.HttpServer;
import io.thalamus.http.ListenFailure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.ModelState;
import io.thalamus.serving.server.ServingComponent;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.felix.service.command.CommandSession;
import org.apache.felix.service.command.Descriptor;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Filter;
import org.osgi.framework.InvalidSyntaxException;
import org.osgi.framework.ServiceReference;
import org.osgi.service.cm.Configuration;
import org.osgi.service.cm.ConfigurationAdmin;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.util.tracker.ServiceTracker;

/** {@code nn:serve}: serves a folder of models until the process is asked to end. Thread-safe. */
@Component(
    service = Command.class,
    property = {"osgi.command.scope=nn", "osgi.command.function=serve"})
public final class ServeCommand extends Command {
  private static final String PREFIX = "io.thalamus.";
  private static final String SERVING = "serving";
  private static final String HTTP = "http";
  private static final String GRPC = "grpc";

  /**
   * The bundles that are configured here, by the last words of their names, in this order: who
   * finds a port that listens is to find the calls too.
   */
  private static final List<String> CONFIGURED = List.of(SERVING, "oip", "dashboard", HTTP, GRPC);

  private static final long DEFAULT_GRACE_MILLIS = 5_000;
  private static final long DEFAULT_DRAIN_MILLIS = 30_000;
  private static final long LONGEST_MILLIS = 3_600_000;
  private static final long LOOK_MILLIS = 20;
  private static final long START_SECONDS = 30;
  private static final long STOP_SECONDS = 30;

  private static final Syntax SYNTAX =
      Syntax.of(
              "nn:serve",
              "",
              """
              Serves the models of a folder to clients of the Open Inference Protocol.
              The folder has NAME/VERSION/model.tflite, model.onnx, or files NAME.tflite; it is
              watched. One line is printed when all models are ready. SIGTERM ends the server:
              it is not ready at once, serves on for the grace, answers what has arrived, and
              the status is 0.\
              """)
          .option("models", "DIR", "the folder of models", Candidates.of(Kind.FILES))
          .option("host", "HOST", "the address to listen at; 127.0.0.1 if it is not given")
          .option("port", "N", "the port of HTTP, 8000 if it is not given; 0 for a free one")
          .option("grpc-port", "N", "the port of gRPC, 8001 if it is not given; 0 for a free one")
          .option("grace", "MS", "how long it serves on after SIGTERM; 5000 if it is not given")
          .option("drain", "MS", "how long it waits then for answers; 30000 if it is not given")
          .repeated(
              "set",
              "BUNDLE.NAME=VALUE",
              "a setting of any bundle, as http.bodyLimit=1000000; nn:config lists them",
              Candidates.NONE);

  private final ConfigurationAdmin configurations;
  private final BundleContext context;

  /** Called by the component runtime. */
  @Activate
  public ServeCommand(@Reference ConfigurationAdmin configurations, BundleContext context) {
    super(SYNTAX);
    this.configurations = configurations;
    this.context = context;
  }

  /** Runs {@code nn:serve}. */
  @Descriptor("serve a folder of models to clients of the Open Inference Protocol")
  public Result serve(CommandSession session, @Descriptor(OPTIONS) String[] words) {
    return run(SYNTAX, session, words, this::serve);
  }

  private Result serve(Invocation invocation) throws Exception {
    Path models =
        invocation.path(
            invocation
                .arguments()
                .text("models")
                .orElseThrow(() -> invocation.usage("which models? --models DIR")));
    if (!Files.isDirectory(models)) {
      throw new CommandException("--models " + models + ": there is no such folder");
    }
    Duration grace = millis(invocation, "grace", DEFAULT_GRACE_MILLIS);
    Duration drain = millis(invocation, "drain", DEFAULT_DRAIN_MILLIS);
    Map<String, Map<String, List<String>>> settings = settings(invocation, models);
    Ending ending = new Ending();
    try {
      Runtime.getRuntime().addShutdownHook(ending.hook());
    } catch (IllegalStateException e) {
      throw new CommandException("the process ends", e);
    }
    List<Changed> made = new ArrayList<>();
    ServiceTracker<ServingComponent, ServingComponent> server = tracker(ServingComponent.class, "");
    ServiceTracker<HttpServer, HttpServer> http =
        tracker(HttpServer.class, "(!(" + HttpServer.PROTOCOL + "=*))");
    ServiceTracker<HttpServer, HttpServer> grpc =
        tracker(HttpServer.class, "(" + HttpServer.PROTOCOL + "=" + GRPC + ")");
    try {
      configure(settings, made);
      ServingComponent serving = await(server, "the server of models", ending);
      HttpServer listening = await(http, "the HTTP server", ending);
      List<String> uris = new ArrayList<>();
      if (listening != null) {
        uris.add(listening.uri().toString());
      }
      if (listening != null && hasGrpc()) {
        HttpServer also = await(grpc, "the gRPC server", ending);
        if (also != null) {
          uris.add(also.uri().toString());
        }
      }
      if (serving != null && listening != null && awaitReady(serving, ending, invocation)) {
        invocation.out().println(ready(invocation.style(), serving, uris).show());
        invocation.out().flush();
        ending.await();
      }
      return ended(invocation, serving, List.of(http, grpc), grace, drain);
    } finally {
      remove(made, List.of(http, grpc));
      server.close();
      http.close();
      grpc.close();
    }
  }

  /** Takes the configurations back. A listener has its calls until it listens no more. */
  private static void remove(List<Changed> made, List<ServiceTracker<?, ?>> listening)
      throws IOException, InterruptedException {
    List<Changed> others = new ArrayList<>();
    for (Changed changed : made) {
      String name = changed.configuration().getPid().substring(PREFIX.length());
      if (name.equals(HTTP) || name.equals(GRPC)) {
        changed.takeBack();
      } else {
        others.add(changed);
      }
    }
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(STOP_SECONDS);
    for (ServiceTracker<?, ?> each : listening) {
      while (each.getService() != null && System.nanoTime() - end < 0) {
        Thread.sleep(LOOK_MILLIS);
      }
    }
    for (Changed changed : others) {
      changed.takeBack();
    }
  }

  private static Duration millis(Invocation invocation, String name, long otherwise) {
    return Duration.ofMillis(
        invocation.arguments().integer(name, 0, LONGEST_MILLIS).orElse(otherwise));
  }

  /** Returns the settings of each bundle, by its name without the first words. */
  private Map<String, Map<String, List<String>>> settings(Invocation invocation, Path models) {
    Map<String, Map<String, List<String>>> settings = new LinkedHashMap<>();
    List<String> set = invocation.arguments().texts("set");
    // A server for which nothing is set need not read what could be.
    DeclaredSettings declared =
        set.isEmpty() ? new DeclaredSettings(List.of()) : DeclaredSettings.of(context.getBundles());
    for (String setting : set) {
      int equals = setting.indexOf('=');
      int dot = setting.lastIndexOf('.', equals);
      if (dot <= 0 || equals == dot + 1) {
        throw invocation.usage("--set " + setting + ": expected BUNDLE.NAME=VALUE");
      }
      String bundle = setting.substring(0, dot);
      String name = setting.substring(dot + 1, equals);
      String value = setting.substring(equals + 1);
      Optional<String> fault = fault(declared, bundle, name, value);
      if (fault.isPresent()) {
        throw invocation.usage("--set " + setting + ": " + fault.get());
      }
      List<String> values =
          settings
              .computeIfAbsent(bundle, key -> new TreeMap<>())
              .computeIfAbsent(name, key -> new ArrayList<>());
      values.add(value);
      boolean isList = declared(declared, bundle).find(name).map(Setting::isList).orElse(false);
      if (values.size() > 1 && !isList) {
        throw invocation.usage(
            "--set " + setting + ": " + bundle + "." + name + " takes one value");
      }
    }
    // Behind those of others, so that what serves begins with them.
    for (String bundle : CONFIGURED) {
      Map<String, List<String>> own = settings.remove(bundle);
      settings.put(bundle, own == null ? new TreeMap<>() : own);
    }
    String host = invocation.arguments().text("host").orElse("127.0.0.1");
    settings.get(SERVING).put("models", List.of(models.toAbsolutePath().toString()));
    settings.get(HTTP).put("host", List.of(host));
    settings.get(HTTP).put("port", List.of(port(invocation, "port", 8000)));
    settings.get(GRPC).put("host", List.of(host));
    settings.get(GRPC).put("port", List.of(port(invocation, "grpc-port", 8001)));
    return settings;
  }

  /** Returns what a bundle declares; gRPC listens by the settings of HTTP. */
  private static DeclaredSettings declared(DeclaredSettings all, String bundle) {
    return all.of(PREFIX + (bundle.equals(GRPC) ? HTTP : bundle));
  }

  /** Returns what is wrong with a setting of a bundle. */
  private static Optional<String> fault(
      DeclaredSettings declared, String configured, String name, String value) {
    Optional<String> undeclared = declared(declared, configured).fault(name, value);
    return undeclared.isEmpty() && configured.equals(SERVING)
        ? ServingComponent.fault(name, value)
        : undeclared;
  }

  private static String port(Invocation invocation, String name, long otherwise) {
    return Long.toString(invocation.arguments().integer(name, 0, 65_535).orElse(otherwise));
  }

  /**
   * A configuration that was changed for the time of serving.
   *
   * @param before what it was; null if there was none
   */
  private record Changed(Configuration configuration, Dictionary<String, Object> before) {
    void takeBack() throws IOException {
      if (before == null) {
        configuration.delete();
      } else {
        configuration.update(before);
      }
    }
  }

  private void configure(Map<String, Map<String, List<String>>> settings, List<Changed> made)
      throws IOException {
    for (Map.Entry<String, Map<String, List<String>>> bundle : settings.entrySet()) {
      Configuration configuration = configurations.getConfiguration(PREFIX + bundle.getKey(), "?");
      Dictionary<String, Object> before = configuration.getProperties();
      made.add(new Changed(configuration, before));
      Hashtable<String, Object> properties = new Hashtable<>();
      if (before != null) {
        Collections.list(before.keys()).forEach(key -> properties.put(key, before.get(key)));
      }
      bundle
          .getValue()
          .forEach(
              (name, values) ->
                  properties.put(
                      name,
                      values.size() == 1 ? values.getFirst() : values.toArray(String[]::new)));
      configuration.update(properties);
    }
  }

  /** Returns a tracker of a service; a filter may be empty. */
  private <T> ServiceTracker<T, T> tracker(Class<T> type, String filter)
      throws InvalidSyntaxException {
    Filter all = context.createFilter("(&(objectClass=" + type.getName() + ")" + filter + ")");
    ServiceTracker<T, T> tracker = new ServiceTracker<>(context, all, null);
    tracker.open();
    return tracker;
  }

  /** Returns whether the bundle is here, which is optional. */
  private boolean hasGrpc() {
    return Arrays.stream(context.getBundles())
        .anyMatch(
            bundle ->
                bundle.getState() == Bundle.ACTIVE
                    && (PREFIX + GRPC).equals(bundle.getSymbolicName()));
  }

  /**
   * Returns a service once it is there; null if the process is asked to end before.
   *
   * @throws CommandException with the reason if a server cannot listen
   */
  private <T> T await(ServiceTracker<T, T> tracker, String what, Ending ending)
      throws InterruptedException {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
    while (!ending.hasBegun()) {
      T service = tracker.waitForService(LOOK_MILLIS);
      if (service != null) {
        return service;
      }
      ServiceReference<ListenFailure> failure = context.getServiceReference(ListenFailure.class);
      if (failure != null) {
        String reason = context.getService(failure).reason();
        throw new CommandException(
            reason.startsWith("cannot listen")
                ? reason + "; --port and --grpc-port choose others"
                : reason);
      }
      if (System.nanoTime() - end > 0) {
        throw new CommandException(what + " does not start; the log says why");
      }
    }
    return null;
  }

  /** Waits until all models are ready, and tells those that fail meanwhile. */
  private static boolean awaitReady(ServingComponent serving, Ending ending, Invocation invocation)
      throws InterruptedException {
    Map<String, String> reported = new TreeMap<>();
    while (!serving.isReady()) {
      for (IndexEntry entry : serving.index()) {
        String name = entry.name() + " version " + entry.version();
        boolean isNews =
            entry.state() == ModelState.UNAVAILABLE
                && !entry.reason().isEmpty()
                && !entry.reason().equals(reported.put(name, entry.reason()));
        // Else the log of the server has said so.
        if (isNews && !invocation.isReportedAtOnce()) {
          invocation.err().println("thalamus: model " + name + " is not ready: " + entry.reason());
        }
      }
      if (ending.await(LOOK_MILLIS)) {
        return false;
      }
    }
    return !ending.hasBegun();
  }

  private static Result ready(Style style, ServingComponent serving, List<String> uris) {
    List<String> names =
        serving.index().stream()
            .filter(entry -> entry.state() == ModelState.READY)
            .map(IndexEntry::name)
            .distinct()
            .toList();
    return new ReadyResult(style, uris, names);
  }

  private static Result ended(
      Invocation invocation,
      ServingComponent serving,
      List<ServiceTracker<HttpServer, HttpServer>> listening,
      Duration grace,
      Duration drain)
      throws InterruptedException {
    if (serving != null) {
      serving.announceEnd();
      for (ServiceTracker<HttpServer, HttpServer> each : listening) {
        HttpServer server = each.getService();
        if (server != null) {
          server.drain();
        }
      }
      Thread.sleep(grace);
      if (!serving.drain(drain)) {
        throw new CommandException("requests still ran after " + drain.toMillis() + " ms");
      }
    }
    return new EndedResult(invocation.style(), "all requests are answered");
  }

  /** The server answers. */
  record ReadyResult(Style style, List<String> uris, List<String> models) implements Result {
    @Override
    public String text() {
      return "serving %s model%s at %s"
          .formatted(models.size(), models.size() == 1 ? "" : "s", String.join(" ", uris));
    }

    @Override
    public Object data() {
      return Map.of("uris", uris, "models", models);
    }
  }

  /** The server has ended. */
  record EndedResult(Style style, String ended) implements Result {
    @Override
    public String text() {
      return ended;
    }

    @Override
    public Object data() {
      return Map.of("ended", ended);
    }
  }

  /** The moment at which the process is asked to end. Thread-safe. */
  private static final class Ending {
    private final CountDownLatch begun = new CountDownLatch(1);

    Thread hook() {
      return new Thread(begun::countDown, "thalamus-serving-end");
    }

    boolean hasBegun() {
      return begun.getCount() == 0;
    }

    void await() throws InterruptedException {
      begun.await();
    }

    boolean await(long millis) throws InterruptedException {
      return begun.await(millis, TimeUnit.MILLISECONDS);
    }
  }
}
