// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.model.Priority;
import io.thalamus.serving.Failure;
import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.InferenceRequest;
import io.thalamus.serving.InferenceResponse;
import io.thalamus.serving.InferenceServer;
import io.thalamus.serving.InferenceStream;
import io.thalamus.serving.ModelMetadata;
import io.thalamus.serving.ModelStatistics;
import io.thalamus.serving.OpenBurst;
import io.thalamus.serving.PendingInference;
import io.thalamus.serving.RequestTimes;
import io.thalamus.serving.ServerMetadata;
import io.thalamus.serving.ServingException;
import io.thalamus.serving.ServingListener;
import io.thalamus.serving.ServingListener.EndedRequest;
import io.thalamus.serving.server.Sequences.Turn;
import java.nio.file.Path;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.osgi.framework.BundleContext;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.ConfigurationPolicy;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;
import org.osgi.service.metatype.annotations.Designate;

/** The server of the configured folder. It exists while there is a configuration. Thread-safe. */
@Component(
    service = {InferenceServer.class, ServingComponent.class},
    configurationPid = ServingComponent.PID,
    configurationPolicy = ConfigurationPolicy.REQUIRE)
@Designate(ocd = ServingSettings.class)
public final class ServingComponent implements InferenceServer {
  /** The configuration of the server. */
  public static final String PID = "io.thalamus.serving";

  /** The directory in which Linux shows shared memory objects. */
  private static final Path SHARED_MEMORY = Path.of("/dev/shm");

  /** The time for requests that still run when the component ends. */
  private static final Duration LAST_REQUESTS = Duration.ofSeconds(10);

  /**
   * What is computed faster may have the thread of its client: it is over before a thread that
   * waits for a processor would be missed.
   */
  private static final long QUICK_NANOS = 1_000_000;

  private static final int PROCESSORS = Runtime.getRuntime().availableProcessors();

  private static final Pattern STATE = Pattern.compile("([^:]+):([^=]+)=(.+)");

  private static final Pattern JOIN = Pattern.compile("([^=]+)=(\\d{1,9})");

  private static final List<String> EXTENSIONS =
      List.of(
          "binary_tensor_data",
          "classification",
          "model_configuration",
          "model_repository",
          "parameters",
          "schedule_policy",
          "sequence",
          "statistics",
          "system_shared_memory");

  private final String version;
  private final Optional<Duration> timeout;
  private final Announcer announcer = new Announcer();
  private final Models models;
  private final Regions regions = new Regions(SHARED_MEMORY);
  private final Sequences sequences;
  private final Streams streams = new Streams();
  private final Traffic traffic = new Traffic();
  private final Admission admission =
      new Admission(PROCESSORS, Admission.FIRST_MARGIN, System::nanoTime);

  /** Called by the component runtime. */
  @Activate
  public ServingComponent(
      @Reference NeuralNetworks networks, BundleContext context, ServingSettings settings) {
    this(networks, context.getBundle().getVersion().toString(), settings);
    models.start();
  }

  /** A server of a version that has not begun to look at the folder. */
  ServingComponent(NeuralNetworks networks, String version, ServingSettings settings) {
    this.version = version;
    this.timeout =
        settings.timeoutMillis() == 0
            ? Optional.empty()
            : Optional.of(Duration.ofMillis(settings.timeoutMillis()));
    CompilationOptions options =
        settings.policy().isEmpty()
            ? CompilationOptions.DEFAULT
            : CompilationOptions.DEFAULT.withPolicy(settings.policy());
    Duration retry = Duration.ofMillis(settings.retryMillis());
    Map<String, Map<String, String>> states = states(settings.states());
    Map<String, Joiner.Terms> joins = joins(settings.joinRows(), settings.joins());
    ServedModel.Loader loader =
        (model, file) ->
            LoadedVersion.load(
                networks,
                file,
                options,
                states.getOrDefault(model, Map.of()),
                Optional.ofNullable(joins.get(model)));
    this.sequences =
        new Sequences(settings.sequences(), Duration.ofMillis(settings.sequenceIdleMillis()));
    this.models =
        new Models(
            new ModelFolder(Path.of(settings.models())),
            name -> new ServedModel(name, settings.versions(), retry, loader, announcer),
            settings.scanMillis(),
            sequences::sweep);
  }

  /** Returns what is wrong with the form of a setting, where its type alone does not say it. */
  public static Optional<String> fault(String name, String value) {
    try {
      switch (name) {
        case "states" -> states(value);
        case "joins" -> joins(0, value);
        default -> {}
      }
      return Optional.empty();
    } catch (IllegalArgumentException e) {
      return Optional.of(e.getMessage());
    }
  }

  /** Returns states by model: outputs to the inputs that they become. */
  private static Map<String, Map<String, String>> states(String... settings) {
    Map<String, Map<String, String>> states = new HashMap<>();
    for (String setting : settings) {
      Matcher parts = STATE.matcher(setting);
      if (!parts.matches()) {
        throw new IllegalArgumentException("state " + setting + ": expected MODEL:OUTPUT=INPUT");
      }
      states
          .computeIfAbsent(parts.group(1), key -> new TreeMap<>())
          .put(parts.group(2), parts.group(3));
    }
    return states;
  }

  private static Map<String, Joiner.Terms> joins(int rows, String... settings) {
    Map<String, Joiner.Terms> joins = new HashMap<>();
    for (String setting : settings) {
      Matcher parts = JOIN.matcher(setting);
      if (!parts.matches()) {
        throw new IllegalArgumentException("join " + setting + ": expected MODEL=MICROSECONDS");
      }
      Duration delay = Duration.of(Long.parseLong(parts.group(2)), ChronoUnit.MICROS);
      joins.put(parts.group(1), new Joiner.Terms(delay, rows));
    }
    return joins;
  }

  /** Adds a listener. */
  @Reference(cardinality = ReferenceCardinality.MULTIPLE, policy = ReferencePolicy.DYNAMIC)
  void addListener(ServingListener listener) {
    announcer.add(listener);
  }

  /** Removes a listener. */
  void removeListener(ServingListener listener) {
    announcer.remove(listener);
  }

  /** Answers what has arrived, then ends. */
  @Deactivate
  void close() {
    traffic.announceEnd();
    traffic.end(LAST_REQUESTS);
    streams.close();
    sequences.clear();
    models.close();
  }

  Sequences sequences() {
    return sequences;
  }

  Models models() {
    return models;
  }

  /** Is not ready from now on, and answers requests all the same. */
  public void announceEnd() {
    traffic.announceEnd();
  }

  /**
   * Takes no new requests from now on, and waits for those that have arrived.
   *
   * @return whether all of them were answered in this time
   */
  public boolean drain(Duration patience) {
    return traffic.end(patience);
  }

  @Override
  public boolean isLive() {
    return true;
  }

  @Override
  public boolean isReady() {
    return !traffic.isEnding() && models.isReady();
  }

  @Override
  public boolean isReady(String model, Optional<String> number) throws ServingException {
    ServedModel found = models.find(model);
    return !traffic.isEnding()
        && (number.isPresent() ? found.version(number).isReady() : found.isReady());
  }

  @Override
  public ServerMetadata metadata() {
    return new ServerMetadata("thalamus", version, EXTENSIONS);
  }

  @Override
  public ModelMetadata metadata(String model, Optional<String> number) throws ServingException {
    ServedModel found = models.find(model);
    ServedModel.Use use = found.acquire(number);
    LoadedVersion loaded = use.loaded();
    try {
      return new ModelMetadata(
          model,
          found.ready(),
          use.version().number(),
          loaded.platform(),
          loaded.digest(),
          loaded.inputs(),
          loaded.outputs());
    } finally {
      loaded.release();
    }
  }

  @Override
  public Compilation compilation(String model, Optional<String> number) throws ServingException {
    LoadedVersion loaded = models.find(model).acquire(number).loaded();
    try {
      return loaded.compilation();
    } finally {
      loaded.release();
    }
  }

  @Override
  public PendingInference infer(InferenceRequest request) {
    return infer(request, pending -> {}, false, null);
  }

  @Override
  public InferenceStream openStream() {
    return streams.open((request, line) -> infer(request, pending -> {}, false, line));
  }

  @Override
  public List<OpenBurst> bursts() {
    return streams.bursts();
  }

  @Override
  public InferenceResponse answer(InferenceRequest request, Consumer<PendingInference> begun)
      throws ServingException {
    return infer(request, begun, true, null).await();
  }

  /**
   * Starts a request.
   *
   * @param line of its stream; null without one
   */
  private PendingInference infer(
      InferenceRequest request,
      Consumer<PendingInference> begun,
      boolean isAwaited,
      BurstLine line) {
    if (!traffic.begin()) {
      return refused(request, "", ServingException.soon(Failure.UNAVAILABLE, "the server ends"));
    }
    String number = "";
    Admission.Place place = null;
    boolean isStarted = false;
    try {
      ServedModel model = models.find(request.model());
      Turn turn = request.sequence().isPresent() ? sequences.enter(request, model) : null;
      Version chosen = turn == null ? model.version(request.version()) : turn.version();
      number = chosen.number();
      Optional<Duration> limit = request.timeout().or(() -> timeout);
      place = admit(request, chosen, turn == null ? limit : Optional.empty());
      ServedModel.Use use =
          turn == null
              ? model.acquire(chosen, request.version())
              : new ServedModel.Use(chosen, turn.loaded());
      number = use.version().number();
      Admission.Place taken = place;
      RunningInference running =
          new RunningInference(
              request,
              use.version(),
              use.loaded(),
              limit,
              announcer,
              turn,
              isDone -> {
                taken.leave(isDone);
                traffic.ended();
              });
      isStarted = true;
      begun.accept(running);
      if (turn != null) {
        turn.await(() -> start(running, line));
      } else if (isAwaited && isQuick(use.version())) {
        running.startDirectly();
      } else {
        start(running, line);
      }
      return running;
    } catch (ServingException e) {
      return refused(request, number, e);
    } finally {
      if (!isStarted) {
        if (place != null) {
          place.leave(false);
        }
        traffic.ended();
      }
    }
  }

  private static void start(RunningInference running, BurstLine line) {
    if (line == null || running.canBeJoined() || !line.execute(() -> running.start(line))) {
      running.start();
    }
  }

  /** Returns whether an execution is short, and finds a processor that nobody else wants. */
  private boolean isQuick(Version version) {
    long median = version.counters().medianNanos();
    return median > 0 && median <= QUICK_NANOS && traffic.isAtMost(PROCESSORS);
  }

  /** Lets a request in if it is expected to be done in time. */
  private Admission.Place admit(InferenceRequest request, Version version, Optional<Duration> limit)
      throws ServingException {
    return admission.enter(
        request.priority(),
        version.counters().usualNanos(),
        limit.map(time -> time.minusNanos(System.nanoTime() - request.arrivalNanos())));
  }

  @Override
  public void refused(String model, long arrivalNanos, ServingException failure) {
    InferenceRequest request =
        new InferenceRequest(
            model,
            Optional.empty(),
            "",
            List.of(),
            List.of(),
            (output, bytes) -> {
              throw failure;
            },
            arrivalNanos,
            Optional.empty(),
            Priority.MEDIUM,
            Optional.empty(),
            Optional.empty(),
            false,
            Optional.empty());
    refused(request, "", failure);
  }

  private PendingInference refused(
      InferenceRequest request, String number, ServingException failure) {
    long total = Math.max(0, System.nanoTime() - request.arrivalNanos());
    announcer.ended(
        new EndedRequest(
            request,
            number,
            Optional.of(failure.failure()),
            failure.getMessage(),
            Optional.empty(),
            0,
            new RequestTimes(total, total, 0, 0, 0)));
    return new RefusedInference(failure);
  }

  @Override
  public List<IndexEntry> index() {
    return models.all().stream().flatMap(model -> model.index().stream()).toList();
  }

  @Override
  public void load(String model) throws ServingException {
    models.load(model);
  }

  @Override
  public void unload(String model) throws ServingException {
    models.find(model).unload("it was unloaded");
    sequences.forget(model);
  }

  @Override
  public List<ModelStatistics> statistics(Optional<String> model, Optional<String> number)
      throws ServingException {
    List<ModelStatistics> all = new ArrayList<>();
    List<ServedModel> chosen =
        model.isPresent() ? List.of(models.find(model.get())) : List.copyOf(models.all());
    for (ServedModel each : chosen) {
      List<Version> versions = number.isPresent() ? List.of(each.version(number)) : each.versions();
      for (Version version : versions) {
        if (version.wasReady()) {
          all.add(version.statistics());
        }
      }
    }
    return all;
  }

  @Override
  public SharedRegions sharedRegions() {
    return regions;
  }
}
