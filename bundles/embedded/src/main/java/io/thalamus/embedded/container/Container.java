// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import io.thalamus.api.NeuralNetworks;
import io.thalamus.burst.QueueBurstService;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.cpu.CpuDevice;
import io.thalamus.hal.Device;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.LittleEndian;
import io.thalamus.onnx.OnnxReader;
import io.thalamus.runtime.ModelLoader;
import io.thalamus.runtime.NeuralNetworksComponent;
import io.thalamus.runtime.caching.CachingSettings;
import io.thalamus.runtime.caching.CodeDigests;
import io.thalamus.runtime.caching.StepCache;
import io.thalamus.runtime.compilation.Compiler;
import io.thalamus.runtime.compilation.NnapiRules;
import io.thalamus.runtime.compilation.Policies;
import io.thalamus.runtime.domain.MemoryDomains;
import io.thalamus.runtime.execution.AsyncThreads;
import io.thalamus.runtime.health.Health;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.registry.Bursts;
import io.thalamus.runtime.registry.DeviceListener;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.DeviceSettings;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.registry.UsualDeviceSettings;
import io.thalamus.runtime.search.SearchPolicy;
import io.thalamus.simd.SimdDevice;
import io.thalamus.tflite.TfliteReader;
import io.thalamus.x86.X86Device;
import io.thalamus.x86.X86Start;
import io.thalamus.x86.code.Machine;
import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.jar.JarFile;
import java.util.jar.Manifest;
import java.util.zip.ZipException;

/**
 * The parts of Thalamus and its devices, put together without a framework, whose start takes longer
 * than theirs. The framework is started for the first bundle that is installed, and has nothing but
 * such bundles. Thread-safe; owned by one {@code Thalamus}.
 */
public final class Container implements AutoCloseable {
  private static final String TITLE = "Thalamus embedded";
  private static final String VECTORS = "jdk.incubator.vector";
  private static final String RUNTIME = "io.thalamus.runtime";

  private final Path folder;
  private final Optional<Path> storage;
  private final List<String> problems = new ArrayList<>();
  private final Map<String, Map<String, ?>> settings = new HashMap<>();

  private final FileCacheEngine engine;
  private final QueueBurstService bursts = new QueueBurstService();
  private final AsyncThreads threads = new AsyncThreads();
  private final NnapiRules rules = new NnapiRules();
  private final DeviceRegistry registry =
      new DeviceRegistry(new UsualDeviceSettings(), new Health());
  private final Policies policies = new Policies(NnapiPolicy.NAME);
  private final StepCache cache =
      new StepCache(registry, this::digest, CachingSettings.QUOTA_BYTES);
  private final MemoryDomains domains;
  private final Measurements measurements;
  private final Compiler compiler;
  private final ModelLoader loader;
  private final NeuralNetworksComponent networks;
  private final List<BuiltInDevice<?>> builtIns = new ArrayList<>();

  /** Both are null until a bundle is installed. */
  private FrameworkLoader frameworkLoader;

  private volatile DeviceBundles bundles;

  /**
   * Looks at the machine beside all else, links what the first model is read with, and loads the
   * classes of a first inference.
   */
  public static CompletableFuture<Machine> probe() {
    return CompletableFuture.supplyAsync(
        Machine::probe,
        probe ->
            Thread.ofPlatform()
                .daemon()
                .name("thalamus-probe")
                .start(
                    () -> {
                      probe.run();
                      linkAccess();
                      FirstClasses.load();
                    }));
  }

  /** Has the JDK link accesses to memory, for which it takes some milliseconds once. */
  private static void linkAccess() {
    MemorySegment some = MemorySegment.ofArray(new byte[Integer.BYTES]);
    some.get(ValueLayout.JAVA_BYTE, 0);
    some.get(LittleEndian.INT, 0);
    some.get(LittleEndian.FLOAT, 0);
  }

  /**
   * Starts all parts and devices.
   *
   * @param probed what {@link #probe} has begun
   * @param folder for files that go with this, emptied by its owner
   * @param storage for what stays
   * @throws IOException if the jar is damaged
   */
  public Container(CompletableFuture<Machine> probed, Path folder, Optional<Path> storage)
      throws IOException {
    this.folder = folder;
    this.storage = storage;
    engine = engine(RUNTIME);
    domains = new MemoryDomains(engine);
    measurements = new Measurements(engine, Clock.systemUTC());
    policies.addPolicy(new SearchPolicy());
    compiler =
        new Compiler(registry, policies, threads, rules, measurements, cache, new Bursts(bursts));
    loader = new ModelLoader(engine);
    loader.addReader(new OnnxReader());
    loader.addReader(new TfliteReader());
    networks = networks("io.thalamus.embedded");
    String version = version();
    if (hasVectors()) {
      add(
          "simd",
          (given, own, serving) -> new SimdDevice(version, threads(given), own, serving),
          SimdDevice::close);
    } else {
      problems.add("the device simd is not available: start java with --add-modules=" + VECTORS);
    }
    Machine machine = probed.join();
    if (machine.best().isPresent()) {
      add(
          "x86",
          (given, own, serving) -> new X86Device(version, machine, threads(given), own, serving),
          X86Device::close);
    } else if (!Machine.isForeign()) {
      problems.add(X86Start.problem(machine));
    }
    add("cpu", (given, own, serving) -> new CpuDevice(version, serving), CpuDevice::close);
    builtIns.forEach(BuiltInDevice::start);
  }

  /** Returns the version that devices have, which is that of the bundles inside. */
  private static String version() throws IOException {
    // What the class loader has read already; not all class loaders do. It is the program's in a
    // jar with all classes in one.
    Package read = Container.class.getPackage();
    return TITLE.equals(read.getImplementationTitle()) && read.getImplementationVersion() != null
        ? read.getImplementationVersion()
        : manifest("hal").getMainAttributes().getValue("Bundle-Version");
  }

  private static boolean hasVectors() {
    // To look for a module that is not there makes streams, which takes a new process milliseconds.
    for (Module module : ModuleLayer.boot().modules()) {
      if (module.getName().equals(VECTORS)) {
        return true;
      }
    }
    return false;
  }

  private static int threads(Map<String, ?> settings) {
    return Settings.number("threads", settings);
  }

  private <D extends Device> void add(String id, BuiltInDevice.Maker<D> maker, Consumer<D> closer) {
    builtIns.add(new BuiltInDevice<>(id, maker, closer, registry, this::engine));
  }

  /**
   * Opens a resource of the jar.
   *
   * @param name below {@code META-INF/thalamus}
   * @throws IOException if it is not there
   */
  public static InputStream open(String name) throws IOException {
    InputStream stream = Container.class.getResourceAsStream("/META-INF/thalamus/" + name);
    if (stream == null) {
      throw new IOException("the jar of Thalamus has no " + name);
    }
    return stream;
  }

  /** Returns the manifest of one of the bundles whose classes are here. */
  public static Manifest manifest(String bundle) throws IOException {
    try (InputStream stream =
        open("contracts/io.thalamus." + bundle + "-jar/META-INF/MANIFEST.MF")) {
      return new Manifest(stream);
    }
  }

  /** Returns a digest of the code of a device. */
  private byte[] digest(RegisteredDevice device) throws IOException {
    try (InputStream stream = open("code.sha256")) {
      String inside = new String(stream.readAllBytes(), StandardCharsets.UTF_8);
      String outside = device.service().bundle().isPresent() ? bundles.digest() : "";
      return Digests.sha256(CodeDigests.PLATFORM + inside + outside);
    }
  }

  /** Returns the engine of a bundle of this name, which its user closes. */
  public FileCacheEngine engine(String bundle) {
    // Where the engine is in a framework with this storage.
    return new FileCacheEngine(storage.orElse(folder).resolve("cache-engine"), bundle);
  }

  /** Returns an entrance for a bundle of this name, which its user closes. */
  public NeuralNetworksComponent networks(String bundle) {
    return new NeuralNetworksComponent(registry, compiler, loader, domains, bundle);
  }

  /** Returns what devices are brought to. */
  public DeviceRegistry registry() {
    return registry;
  }

  /** Returns what readers are brought to. */
  public ModelLoader loader() {
    return loader;
  }

  /** Returns what policies are brought to. */
  public Policies policies() {
    return policies;
  }

  /** Returns what extensions are brought to. */
  public NnapiRules rules() {
    return rules;
  }

  /** Returns the service. */
  public NeuralNetworks neuralNetworks() {
    return networks;
  }

  /** Returns one line for each device that is not available. */
  public List<String> problems() {
    List<String> all = new ArrayList<>(problems);
    DeviceBundles installed = bundles;
    if (installed != null) {
      all.addAll(installed.problems());
    }
    return List.copyOf(all);
  }

  /** Calls a listener with the ids of the devices that serve whenever these change. */
  public Runnable listen(Consumer<List<String>> listener) {
    DeviceListener changes =
        new DeviceListener() {
          @Override
          public void arrived(RegisteredDevice device) {
            changed();
          }

          @Override
          public void departing(RegisteredDevice device) {
            changed();
          }

          private void changed() {
            try {
              listener.accept(registry.devices().stream().map(RegisteredDevice::id).toList());
            } catch (RuntimeException e) {
              System.getLogger(Container.class.getPackageName())
                  .log(Level.WARNING, "a listener of devices failed", e);
            }
          }
        };
    registry.addListener(changes);
    return () -> registry.removeListener(changes);
  }

  /**
   * Installs a device bundle, or updates the one of the same symbolic name.
   *
   * @throws IOException whose message is one line, if the file cannot be read or does not start
   */
  public synchronized void install(Path file) throws IOException {
    String name = symbolicName(file);
    DeviceBundles framework = framework();
    Optional<BuiltInDevice<?>> replaced = builtIn(device -> device.part().equals(name));
    replaced.ifPresent(BuiltInDevice::stop);
    boolean isInstalled = false;
    try {
      framework.install(name, file);
      isInstalled = true;
    } finally {
      if (!isInstalled) {
        replaced.ifPresent(BuiltInDevice::start);
      }
    }
  }

  private Optional<BuiltInDevice<?>> builtIn(Predicate<BuiltInDevice<?>> condition) {
    return builtIns.stream().filter(BuiltInDevice::isHere).filter(condition).findFirst();
  }

  /** Starts the framework if it does not run yet. */
  private DeviceBundles framework() throws IOException {
    if (bundles == null) {
      if (frameworkLoader == null) {
        frameworkLoader = FrameworkLoader.create(folder);
      }
      DeviceBundles started =
          frameworkLoader.start(
              this,
              Map.of(
                  "org.osgi.framework.storage",
                  folder.resolve("bundles").toString(),
                  "thalamus.storage",
                  storage.orElse(folder).toString()));
      bundles = started;
      for (Map.Entry<String, Map<String, ?>> part : settings.entrySet()) {
        started.configure(part.getKey(), part.getValue());
      }
    }
    return bundles;
  }

  private static String symbolicName(Path file) throws IOException {
    if (!Files.isRegularFile(file)) {
      throw new IOException("there is no file " + file);
    }
    try (JarFile jar = new JarFile(file.toFile())) {
      Manifest manifest = jar.getManifest();
      String name =
          manifest == null ? null : manifest.getMainAttributes().getValue("Bundle-SymbolicName");
      if (name != null) {
        return name.split(";")[0].strip();
      }
    } catch (ZipException e) {
      throw new IOException(file + " is no bundle: " + e.getMessage(), e);
    }
    throw new IOException(file + " is no bundle: its manifest has no Bundle-SymbolicName");
  }

  /**
   * Removes a device.
   *
   * @throws IOException whose message is one line, if there is none
   */
  public synchronized void uninstall(String id) throws IOException {
    Optional<BuiltInDevice<?>> leaving = builtIn(device -> device.id().equals(id));
    if (leaving.isPresent()) {
      leaving.get().stop();
    } else if (bundles != null) {
      bundles.uninstall(id);
    } else {
      throw new IOException("no device " + id + " is installed");
    }
  }

  /**
   * Gives a part its settings in the place of earlier ones.
   *
   * @throws IOException whose message is one line, if they cannot be taken
   */
  public synchronized void configure(String part, Map<String, ?> changed) throws IOException {
    try {
      Settings.check(changed.values());
      switch (part) {
        case RUNTIME + ".devices" -> registry.modified(Settings.of(DeviceSettings.class, changed));
        case RUNTIME + ".partitioning" ->
            policies.modified(Settings.of(Policies.Settings.class, changed));
        case RUNTIME + ".caching" -> cache.modified(Settings.of(CachingSettings.class, changed));
        default -> {
          for (BuiltInDevice<?> device : builtIns) {
            if (device.part().equals(part)) {
              device.configure(changed);
            }
          }
        }
      }
    } catch (IllegalArgumentException e) {
      throw new IOException(part + " cannot take " + changed + ": " + e.getMessage(), e);
    }
    settings.put(part, changed);
    if (bundles != null) {
      bundles.configure(part, changed);
    }
  }

  /**
   * Ends everything.
   *
   * @throws IOException if the framework does not stop
   */
  @Override
  public synchronized void close() throws IOException {
    networks.close();
    compiler.close();
    try {
      if (bundles != null) {
        bundles.close();
      }
      if (frameworkLoader != null) {
        frameworkLoader.close();
      }
    } finally {
      builtIns.stream().filter(BuiltInDevice::isHere).forEach(BuiltInDevice::stop);
      cache.close();
      threads.close();
      measurements.close();
      domains.close();
      registry.close();
      bursts.close();
      engine.close();
    }
  }
}
