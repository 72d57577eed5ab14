// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.api.CompilationCache;
import io.thalamus.hal.Device;
import io.thalamus.model.FeatureLevel;
import io.thalamus.runtime.CompilationCacheComponent;
import io.thalamus.runtime.ModelLoader;
import io.thalamus.runtime.NeuralNetworksComponent;
import io.thalamus.runtime.caching.StepCache;
import io.thalamus.runtime.call.RuntimeThreads;
import io.thalamus.runtime.call.Supervisor;
import io.thalamus.runtime.call.SystemTime;
import io.thalamus.runtime.compilation.Compiler;
import io.thalamus.runtime.compilation.NnapiRules;
import io.thalamus.runtime.compilation.Policies;
import io.thalamus.runtime.domain.MemoryDomains;
import io.thalamus.runtime.execution.AsyncThreads;
import io.thalamus.runtime.health.Health;
import io.thalamus.runtime.measurement.Measurements;
import io.thalamus.runtime.partition.ModelRules;
import io.thalamus.runtime.partition.NnapiPolicy;
import io.thalamus.runtime.registry.Bursts;
import io.thalamus.runtime.registry.DeviceListener;
import io.thalamus.runtime.registry.DeviceMonitor;
import io.thalamus.runtime.registry.DeviceRegistry;
import io.thalamus.runtime.registry.DeviceSettings;
import io.thalamus.runtime.registry.RegisteredDevice;
import io.thalamus.runtime.registry.ServiceProperties;
import io.thalamus.runtime.search.SearchPolicy;
import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ExecutorService;

/** The parts of the runtime, put together without a framework. */
@DeviceSettings(drainMillis = 60_000)
public final class TestRuntime implements AutoCloseable {
  /** Rules that accept everything, for operations that the catalogue may not have yet. */
  public static final ModelRules LENIENT = (model, graph, operation) -> FeatureLevel.V1_0;

  /** The settings of tests that name none: a departure waits as long as a test does. */
  public static final DeviceSettings SETTINGS = settings(TestRuntime.class);

  /** Those with which a departure does not wait for long. */
  public static final DeviceSettings IMPATIENT = settings(Impatient.class);

  @DeviceSettings(drainMillis = 100)
  private static final class Impatient {}

  private static final ExecutorService CALLS = RuntimeThreads.forCalls();

  public final DeviceRegistry registry;
  public final Policies policies = new Policies(NnapiPolicy.NAME);
  public final ModelLoader loader = new ModelLoader();
  public final AsyncThreads threads;
  public final Measurements measurements = new Measurements(null, Clock.systemUTC());
  public final MemoryDomains domains;
  public final StepCache cache;
  public final ThreadBursts burstService = new ThreadBursts();

  /** The stand-in for the code of all devices; a test may change it. */
  public volatile byte[] code = new byte[] {1};

  private final Compiler compiler;
  private final NeuralNetworksComponent networks;

  private TestRuntime(ModelRules rules, DeviceRegistry registry) {
    this.registry = registry;
    threads = new AsyncThreads(registry.time());
    domains = new MemoryDomains(Duration.ofSeconds(30), registry.time(), null);
    policies.addPolicy(new SearchPolicy());
    cache = new StepCache(registry, device -> code, 1L << 30);
    compiler =
        new Compiler(
            registry, policies, threads, rules, measurements, cache, new Bursts(burstService));
    networks = networks("test");
  }

  /** With NNAPI's rules and these devices, in order. */
  public static TestRuntime of(Device... devices) {
    return of(new NnapiRules(), devices);
  }

  /** With rules that accept everything and these devices, in order. */
  public static TestRuntime lenient(Device... devices) {
    return of(LENIENT, devices);
  }

  /** With these rules and devices, in order. */
  public static TestRuntime of(ModelRules rules, Device... devices) {
    return of(rules, new DeviceRegistry(SETTINGS, new Health()), devices);
  }

  /** With NNAPI's rules and these devices, whose departure waits for no call. */
  public static TestRuntime impatient(Device... devices) {
    return of(new NnapiRules(), new DeviceRegistry(IMPATIENT, new Health()), devices);
  }

  /** With a clock that the test moves, and these devices, in order. */
  public static TestRuntime stepped(SteppedTime time, DeviceSettings settings, Device... devices) {
    return of(new NnapiRules(), new DeviceRegistry(settings, time, new Health()), devices);
  }

  /** With these settings, and devices in order. */
  public static TestRuntime with(DeviceSettings settings, Device... devices) {
    return of(new NnapiRules(), new DeviceRegistry(settings, new Health()), devices);
  }

  /** Settings as a class states them. */
  public static DeviceSettings settings(Class<?> annotated) {
    return annotated.getAnnotation(DeviceSettings.class);
  }

  /** A device without a registry, and without a judge. */
  public static RegisteredDevice registered(String id, Device device) {
    return new RegisteredDevice(
        id,
        device.info(),
        false,
        ServiceProperties.of(Map.of()),
        new Supervisor(device, CALLS, new SystemTime()),
        () -> SETTINGS,
        new DeviceListener() {},
        unwatched -> new DeviceMonitor() {});
  }

  private static TestRuntime of(ModelRules rules, DeviceRegistry registry, Device... devices) {
    TestRuntime runtime = new TestRuntime(rules, registry);
    for (Device device : devices) {
      runtime.add(device);
    }
    return runtime;
  }

  /** A device comes. */
  public void add(Device device) {
    registry.addDevice(device, Map.of());
  }

  /** A device goes. */
  public void remove(Device device) {
    registry.removeDevice(device);
  }

  /** The view of stored compilations. */
  public CompilationCache storedCompilations() {
    return new CompilationCacheComponent(cache, compiler);
  }

  /** The entrance for another application, which its caller closes. */
  public NeuralNetworksComponent networks(String application) {
    return new NeuralNetworksComponent(registry, compiler, loader, domains, application);
  }

  /** The entrance for an application with memories of its own, which its caller closes. */
  public NeuralNetworksComponent networks(MemoryDomains own) {
    return new NeuralNetworksComponent(registry, compiler, loader, own, "test");
  }

  /** The entrance. */
  public NeuralNetworksComponent networks() {
    return networks;
  }

  @Override
  public void close() {
    networks.close();
    compiler.close();
    cache.close();
    threads.close();
    registry.close();
  }
}
