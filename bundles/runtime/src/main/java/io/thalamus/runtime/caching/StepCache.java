// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CacheOutcome.Origin;
import io.thalamus.api.CompilationCache.Check;
import io.thalamus.api.CompilationCache.Entry;
import io.thalamus.api.CompilationCache.Forecast;
import io.thalamus.api.CompilationCache.Looks;
import io.thalamus.api.CompilationCache.Trouble;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.ModelDigest;
import io.thalamus.runtime.call.StatusMapping;
import io.thalamus.runtime.call.Terms.Admission;
import io.thalamus.runtime.events.CacheEvent.Outcome;
import io.thalamus.runtime.plan.PlanNode.ExecutionStep;
import io.thalamus.runtime.registry.DeviceListener;
import io.thalamus.runtime.registry.DevicePreparedModel;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Modified;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.metatype.annotations.Designate;

/**
 * A cache of compiled steps: devices restore steps that they stored, and store those that they
 * compile. Thread-safe.
 *
 * <p>A step is prepared, in spite of any trouble with files, as it would be without them: they are
 * lent to the device when they can be opened, and nobody waits for a file that is in use. Files
 * that a device still has open when it has left are closed then.
 */
@Component(service = StepCache.class, configurationPid = "io.thalamus.runtime.caching")
@Designate(ocd = CachingSettings.class)
public final class StepCache implements DeviceListener, AutoCloseable {
  private final DeviceRegistry registry;
  private final CodeDigests code;
  private final Map<Path, CacheDirectory> directories = new ConcurrentHashMap<>();
  private final Map<RegisteredDevice, Set<OpenEntry>> open = new ConcurrentHashMap<>();
  private final CacheProblems problems = new CacheProblems(InstantSource.system());
  private final CacheLooks looks = new CacheLooks();
  private volatile long quotaBytes;

  @Activate
  public StepCache(
      @Reference DeviceRegistry registry, @Reference CodeDigests code, CachingSettings settings) {
    this(registry, code, settings.quotaBytes());
  }

  /** A cache whose directories may hold so many bytes each. */
  public StepCache(DeviceRegistry registry, CodeDigests code, long quotaBytes) {
    this.registry = registry;
    this.code = code;
    this.quotaBytes = quotaBytes;
    registry.addListener(this);
  }

  /** Another quota counts from now on. */
  @Modified
  public void modified(CachingSettings changed) {
    quotaBytes = changed.quotaBytes();
  }

  /** Returns the bytes that may stay in a directory when something is added to it. */
  public long quotaBytes() {
    return quotaBytes;
  }

  /**
   * A step for a device.
   *
   * @param device need not be the one that the plan chose
   * @param isWholeModel whether it is NNAPI's SIMPLE plan
   */
  public record Part(RegisteredDevice device, ExecutionStep step, boolean isWholeModel) {
    Model model() {
      return step.model();
    }

    CacheNeeds needs() {
      return device.info().cacheNeeds();
    }

    /** Returns the operations, for people. */
    public String describe() {
      return isWholeModel ? "the whole model" : step.describe();
    }
  }

  /** A prepared step and its origin. The caller owns the model. */
  public record Prepared(DevicePreparedModel model, Origin origin) {}

  /**
   * Prepares a step: restores it where it is stored, else compiles it and lends the device files.
   *
   * @param isRenewal whether a step that is worth compiling anew is compiled
   * @throws DeviceException as {@link RegisteredDevice#prepare}; never for trouble with files
   */
  public Prepared prepare(
      Part part, PrepareConfig config, Optional<CacheOptions> caching, boolean isRenewal)
      throws DeviceException {
    if (caching.isEmpty() || !part.needs().isCachingSupported()) {
      return new Prepared(
          part.device().prepare(part.model(), config, Admission.WHILE_SERVING), Origin.COMPILED);
    }
    CacheDirectory directory = directory(caching.get().directory());
    try {
      StepIdentity identity = identity(part, config, caching.get());
      CachedStep step =
          new CachedStep(
              part,
              config,
              directory,
              directory.entry(identity.token(), part.needs()),
              EntryNote.of(identity, caching.get().label(), part.describe()));
      Optional<Prepared> prepared = step.prepare(isRenewal);
      if (prepared.isPresent()) {
        return prepared.get();
      }
    } catch (IOException e) {
      trouble(directory, e);
      looks.add(part.device().id(), "", Outcome.UNAVAILABLE, e.toString());
    }
    return new Prepared(
        part.device().prepare(part.model(), config, Admission.WHILE_SERVING), Origin.NOT_STORED);
  }

  /** Returns whether a device judged the files that it was to restore, not the moment. */
  private static boolean isVerdict(ErrorStatus status) {
    return switch (status) {
      case NONE, GENERAL_FAILURE, INVALID_ARGUMENT, OUTPUT_INSUFFICIENT_SIZE -> true;
      case DEVICE_UNAVAILABLE,
          MISSED_DEADLINE_TRANSIENT,
          MISSED_DEADLINE_PERSISTENT,
          RESOURCE_EXHAUSTED_TRANSIENT,
          RESOURCE_EXHAUSTED_PERSISTENT ->
          false;
    };
  }

  /**
   * A step that is being restored, or compiled and stored. Used by the thread that prepares it; any
   * thread may close the last file.
   */
  private final class CachedStep implements OpenEntry.Keeper {
    private final Part part;
    private final PrepareConfig config;
    private final CacheDirectory directory;
    private final CacheEntry entry;
    private final EntryNote note;

    CachedStep(
        Part part,
        PrepareConfig config,
        CacheDirectory directory,
        CacheEntry entry,
        EntryNote note) {
      this.part = part;
      this.config = config;
      this.directory = directory;
      this.entry = entry;
      this.note = note;
    }

    /** Prepares the step; empty while its files are in use. */
    Optional<Prepared> prepare(boolean isRenewal) throws IOException, DeviceException {
      Optional<OpenEntry> stored = entry.open(this);
      boolean isRefused = false;
      if (stored.isPresent()) {
        try {
          DevicePreparedModel restored =
              part.device().prepareFromCache(part.model(), config.with(lend(stored.get())));
          boolean isStale = restored.staleness().isPresent();
          tell(isStale ? Outcome.STALE : Outcome.HIT, restored.staleness().orElse(""));
          if (!isStale || !isRenewal) {
            touch();
            return Optional.of(new Prepared(restored, isStale ? Origin.STALE : Origin.RESTORED));
          }
          restored.close();
        } catch (DeviceException e) {
          if (config.deadline().hasPassed()
              || StatusMapping.isMissedDeadline(StatusMapping.toResultCode(e.status()))) {
            // What it has no time to restore, it has none to compile.
            throw e;
          }
          isRefused = isVerdict(e.status());
          tell(isRefused ? Outcome.REFUSED : Outcome.UNAVAILABLE, e.getMessage());
          log()
              .log(
                  isRefused ? Level.WARNING : Level.DEBUG,
                  "{0} does not accept the stored files, and compiles {1} anew: {2} ({3})",
                  part.device().id(),
                  part.describe(),
                  e.getMessage(),
                  directory.directory());
        }
      }
      Optional<OpenEntry> files = entry.create(this);
      if (stored.isEmpty()) {
        tell(files.isPresent() ? Outcome.MISS : Outcome.UNAVAILABLE, "");
      }
      return files.isPresent() ? Optional.of(compile(files.get(), isRefused)) : Optional.empty();
    }

    /**
     * Has the device compile into files. When it fails, a whole entry that it has not touched
     * survives, unless the device has refused it.
     */
    private Prepared compile(OpenEntry files, boolean isRefused) throws DeviceException {
      String before = entry.contents();
      boolean isCompiled = false;
      long begun = System.nanoTime();
      try {
        DevicePreparedModel compiled =
            part.device().prepare(part.model(), config.with(lend(files)), Admission.WHILE_SERVING);
        isCompiled = true;
        Duration cost = Duration.ofNanos(System.nanoTime() - begun);
        return new Prepared(compiled, store(files, cost) ? Origin.STORED : Origin.NOT_STORED);
      } finally {
        if (!isCompiled && (isRefused || before.isEmpty() || !before.equals(entry.contents()))) {
          entry.discard();
        }
      }
    }

    private void tell(Outcome outcome, String message) {
      looks.add(part.device().id(), part.describe(), outcome, message);
    }

    private PrepareConfig.Cache lend(OpenEntry files) {
      opened(part.device(), files);
      return files.lend();
    }

    private void touch() {
      try {
        entry.touch(note);
      } catch (IOException e) {
        trouble(directory, e);
      }
    }

    /** Notes what a device stored; returns false when it stored nothing. */
    private boolean store(OpenEntry files, Duration cost) {
      if (files.isAbandoned() || !entry.exists()) {
        return false;
      }
      try {
        entry.writeNote(note.costing(cost));
        // A device may fill its files when it has time.
        if (directory.added(entry, quotaBytes) > 0) {
          problems.over(directory.directory());
        }
      } catch (IOException e) {
        trouble(directory, e);
      }
      return true;
    }

    @Override
    public void ended(OpenEntry files) {
      closed(part.device(), files);
      entry.discardIfEmpty();
    }

    @Override
    public void abandoned(OpenEntry files, IOException cause) {
      trouble(directory, cause);
    }
  }

  private void opened(RegisteredDevice device, OpenEntry entry) {
    open.compute(
        device,
        (key, before) -> {
          Set<OpenEntry> entries = before != null ? before : ConcurrentHashMap.newKeySet();
          entries.add(entry);
          return entries;
        });
  }

  private void closed(RegisteredDevice device, OpenEntry entry) {
    open.computeIfPresent(
        device,
        (key, entries) -> {
          entries.remove(entry);
          return entries.isEmpty() ? null : entries;
        });
  }

  /** Says it once: the next compilation would say the same. */
  private void trouble(CacheDirectory directory, IOException e) {
    String cause = CacheProblems.cause(directory.directory(), e);
    log()
        .log(
            problems.add(directory.directory(), cause),
            "compilations are not stored in {0}: {1}",
            directory.directory(),
            cause);
  }

  /** Returns the reasons why the last compilations were not stored. */
  public List<Trouble> troubles() {
    return problems.all();
  }

  /** Returns how looks at the cache have ended, for each device. */
  public List<Looks> looks() {
    return looks.all();
  }

  /** Returns the reason why compilations cannot be stored in a directory now, if there is one. */
  public Optional<String> obstacle(Path path) {
    Path directory = path.toAbsolutePath().normalize();
    try {
      new CacheDirectory(directory).tryToWrite();
      return Optional.empty();
    } catch (IOException e) {
      return Optional.of(CacheProblems.cause(directory, e));
    }
  }

  /**
   * Returns all that decides a step.
   *
   * @throws IOException where the code of the device cannot be read
   */
  private StepIdentity identity(Part part, PrepareConfig config, CacheOptions caching)
      throws IOException {
    return new StepIdentity(
        caching.token(),
        part.step().subgraph(),
        part.isWholeModel() ? List.of() : part.step().operations(),
        part.device().info(),
        config,
        code.of(part.device()),
        settings(part.device()),
        fingerprint(part.model()));
  }

  private static byte[] fingerprint(Model model) throws IOException {
    try {
      return ModelDigest.fingerprint(model);
    } catch (IllegalStateException e) {
      throw new IOException("the memory of a constant is closed", e);
    }
  }

  private static byte[] settings(RegisteredDevice device) {
    MessageDigest sha = Digests.sha256();
    device
        .service()
        .settings()
        .forEach(
            (name, value) ->
                sha.update(
                    (name.length() + ":" + name + value.length() + ":" + value)
                        .getBytes(StandardCharsets.UTF_8)));
    return sha.digest();
  }

  /** Returns what a directory holds. */
  public List<Entry> entries(Path path) throws IOException {
    return new CacheView(directory(path)).entries();
  }

  /** Has devices open what they stored in a directory. */
  public List<Check> verify(Path path) throws IOException {
    return new CacheView(directory(path)).verify(registry.devices(), this);
  }

  /** Returns the parts of an identity that are the same for all that a device compiles now. */
  Map<String, String> deviceParts(RegisteredDevice device) throws IOException {
    return StepIdentity.deviceParts(device.info(), code.of(device), settings(device));
  }

  /**
   * Has a device open an entry and close it.
   *
   * @return the reason why it is worth compiling anew, or nothing if it is as good as new; empty if
   *     its files are missing or in use
   */
  Optional<String> open(
      CacheEntry entry, RegisteredDevice device, Model model, PrepareConfig config)
      throws IOException, DeviceException {
    Optional<OpenEntry> files = entry.open(ended -> closed(device, ended));
    if (files.isEmpty()) {
      return Optional.empty();
    }
    opened(device, files.get());
    DevicePreparedModel restored = device.prepareFromCache(model, config.with(files.get().lend()));
    restored.close();
    return Optional.of(restored.staleness().orElse(""));
  }

  /** Removes the entries that are worth least from a directory; see {@link CacheDirectory}. */
  public List<Entry> collect(Path path, long quota) throws IOException {
    CacheDirectory directory = directory(path);
    List<Entry> before = entries(path);
    Set<String> removed =
        directory.collect(quota).stream()
            .map(listed -> listed.entry().name())
            .collect(Collectors.toSet());
    return before.stream().filter(entry -> removed.contains(entry.name())).toList();
  }

  /** Returns whether a step would be restored. */
  public Forecast forecast(Part part, PrepareConfig config, CacheOptions caching)
      throws NeuralNetworksException {
    String id = part.device().id();
    if (!part.needs().isCachingSupported()) {
      return new Forecast(part.describe(), id, false, List.of(id + " does not cache"));
    }
    try {
      return new CacheView(directory(caching.directory()))
          .forecast(part, config, identity(part, config, caching), this);
    } catch (IOException e) {
      throw unreadable(caching, e);
    }
  }

  /** Removes the entry of a step, unless it is in use. */
  public boolean forget(Part part, PrepareConfig config, CacheOptions caching)
      throws NeuralNetworksException {
    if (!part.needs().isCachingSupported()) {
      return false;
    }
    try {
      return directory(caching.directory())
          .entry(identity(part, config, caching).token(), part.needs())
          .remove();
    } catch (IOException e) {
      throw unreadable(caching, e);
    }
  }

  private static NeuralNetworksException unreadable(CacheOptions caching, IOException e) {
    return new NeuralNetworksException(
        ResultCode.BAD_DATA,
        "the caching directory " + caching.directory() + " cannot be read: " + e.getMessage(),
        e);
  }

  /** The directory of a path: the same for the same path, since it keeps the locks. */
  CacheDirectory directory(Path path) {
    return directories.computeIfAbsent(path.toAbsolutePath().normalize(), CacheDirectory::new);
  }

  @Override
  public void departed(RegisteredDevice device) {
    Set<OpenEntry> left = open.remove(device);
    if (left != null) {
      left.forEach(OpenEntry::close);
    }
  }

  @Deactivate
  @Override
  public void close() {
    registry.removeListener(this);
    List.copyOf(open.keySet()).forEach(this::departed);
  }

  /** Returns the log of the package, which costs time to find: only where something is said. */
  static System.Logger log() {
    return System.getLogger(StepCache.class.getPackageName());
  }
}
