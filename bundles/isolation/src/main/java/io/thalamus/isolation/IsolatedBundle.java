// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.proxy.RemoteDevice;
import io.thalamus.isolation.wire.Joining;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Dictionary;
import java.util.Hashtable;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.ServiceRegistration;

/**
 * One bundle whose device runs in a process of its own: started, offered in the bundle's name,
 * withdrawn when the process ends, and started again after a delay that doubles while processes end
 * early. Thread-safe. Owns the process and a thread, until it is closed.
 *
 * <p>The framework is never called under the lock: it has locks of its own for each bundle.
 */
final class IsolatedBundle implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(IsolatedBundle.class.getPackageName());
  private static final Duration LONGEST_JOIN = Duration.ofSeconds(2);

  private final Bundle bundle;
  private final String name;
  private final JavaCommand command;
  private final Plan plan;
  private final byte[] configurations;
  private final Consumer<String> log;
  private final Supplier<Optional<BurstService>> bursts;
  private final Thread thread;
  private final Object lock = new Object();

  private boolean isClosed;

  /** Null while there is none. */
  private DeviceProcess process;

  /** Null while nothing is offered. */
  private ServiceRegistration<Device> registration;

  /**
   * The times of a process.
   *
   * @param start the time that a process has to bring its device
   * @param firstDelay before it is started again
   * @param longestDelay to which that grows; a process that lived longer did not end early
   */
  record Plan(
      Duration start, Duration firstDelay, Duration longestDelay, RemoteDevice.Limits limits) {
    static Plan of(IsolationSettings settings) {
      return new Plan(
          Duration.ofMillis(settings.startMillis()),
          Duration.ofMillis(settings.restartMillis()),
          Duration.ofMillis(settings.longestRestartMillis()),
          new RemoteDevice.Limits(
              Duration.ofMillis(settings.executionMillis()),
              Duration.ofMillis(settings.callMillis()),
              settings.descriptors()));
    }
  }

  /**
   * A bundle that is active.
   *
   * @param name of its device
   * @param configurations of its components
   * @param log gets what its process prints
   * @param bursts the service by which its models are executed often
   */
  IsolatedBundle(
      Bundle bundle,
      String name,
      JavaCommand command,
      Plan plan,
      byte[] configurations,
      Consumer<String> log,
      Supplier<Optional<BurstService>> bursts) {
    this.bursts = bursts;
    this.log = log;
    this.bundle = bundle;
    this.name = name;
    this.command = command;
    this.plan = plan;
    this.configurations = configurations;
    this.thread =
        Thread.ofPlatform().daemon().name("thalamus-isolated-" + name).unstarted(this::run);
  }

  /** Begins to start processes. */
  void start() {
    thread.start();
  }

  private void run() {
    Duration delay = plan.firstDelay();
    try {
      while (true) {
        long start = System.nanoTime();
        String why = serve();
        Duration lived = Duration.ofNanos(System.nanoTime() - start);
        delay = lived.compareTo(plan.longestDelay()) > 0 ? plan.firstDelay() : shorter(delay, plan);
        synchronized (lock) {
          if (isClosed) {
            return;
          }
        }
        LOG.log(
            Level.WARNING,
            "isolated {0}: {1}; it is started again in {2} ms",
            name,
            why,
            delay.toMillis());
        Thread.sleep(delay);
        delay = delay.multipliedBy(2);
      }
    } catch (InterruptedException e) {
      // It is closed.
      return;
    }
  }

  private static Duration shorter(Duration delay, Plan plan) {
    return delay.compareTo(plan.longestDelay()) > 0 ? plan.longestDelay() : delay;
  }

  /** Serves by one process, until that has ended; returns why it did. */
  private String serve() throws InterruptedException {
    try (DeviceProcess started = newProcess()) {
      synchronized (lock) {
        if (isClosed) {
          return "it is closed";
        }
        process = started;
      }
      try {
        offer(started);
        started.await();
        withdraw();
        return started.reason();
      } finally {
        withdraw();
        synchronized (lock) {
          process = null;
        }
      }
    } catch (IOException | DeviceException e) {
      return e.getMessage();
    }
  }

  private DeviceProcess newProcess() throws IOException, DeviceException, InterruptedException {
    Path folder = DeviceProcess.newFolder();
    boolean isWritten = false;
    ProcessBuilder builder;
    try {
      Path jar = folder.resolve("device.jar");
      BundleJar.write(bundle, jar);
      DeviceConfigurations.write(configurations, folder);
      builder = command.serve(jar);
      isWritten = true;
    } finally {
      if (!isWritten) {
        Folders.delete(folder);
      }
    }
    return DeviceProcess.start(name, folder, builder, log, bursts, plan);
  }

  private void offer(DeviceProcess started) {
    BundleContext owner = bundle.getBundleContext();
    if (owner == null) {
      return;
    }
    ServiceRegistration<Device> fresh;
    try {
      fresh = owner.registerService(Device.class, started.device(), properties(started));
    } catch (IllegalStateException e) {
      LOG.log(Level.DEBUG, "{0} left while it was to be offered: {1}", name, e.getMessage());
      return;
    }
    boolean isStale;
    synchronized (lock) {
      isStale = isClosed;
      registration = fresh;
    }
    if (isStale) {
      withdraw();
    }
  }

  private static Dictionary<String, Object> properties(DeviceProcess started) {
    Dictionary<String, Object> properties = new Hashtable<>();
    for (Map.Entry<String, Object> entry : started.properties().entrySet()) {
      properties.put(entry.getKey(), entry.getValue());
    }
    properties.put(DeviceDriver.PROCESS, started.pid());
    properties.put(
        DeviceDriver.PROCESS_MEMORY,
        started.device().isByDescriptor() ? "by descriptor" : "by named files, copied");
    return properties;
  }

  /** Returns when the device has left: no call runs on it. */
  private void withdraw() {
    ServiceRegistration<Device> old;
    synchronized (lock) {
      old = registration;
      registration = null;
    }
    if (old == null) {
      return;
    }
    try {
      old.unregister();
    } catch (IllegalStateException e) {
      LOG.log(Level.DEBUG, "{0} was withdrawn by its bundle: {1}", name, e.getMessage());
    }
  }

  /** Returns whether its process is started as these say. */
  boolean isAs(JavaCommand newCommand, Plan newPlan, byte[] newConfigurations) {
    return command.equals(newCommand)
        && plan.equals(newPlan)
        && Arrays.equals(configurations, newConfigurations);
  }

  /**
   * Withdraws the device, ends the process and the thread. The thread may just be offering the
   * device, and wait for a lock of the framework that this thread has: then it ends a little later.
   */
  @Override
  public void close() {
    synchronized (lock) {
      isClosed = true;
    }
    withdraw();
    DeviceProcess running;
    synchronized (lock) {
      running = process;
    }
    if (running != null) {
      running.close();
    }
    thread.interrupt();
    Joining.join(thread, LONGEST_JOIN);
  }
}
