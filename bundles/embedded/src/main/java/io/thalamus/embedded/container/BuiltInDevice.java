// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import io.thalamus.burst.QueueBurstService;
import io.thalamus.cache.CacheEngine;
import io.thalamus.cache.FileCacheEngine;
import io.thalamus.driver.BurstSource;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceDriver;
import io.thalamus.runtime.registry.DeviceRegistry;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

/**
 * A device whose classes are the jar's own. It can go and come back with other settings. Not
 * thread-safe.
 */
final class BuiltInDevice<D extends Device> {
  private final String id;
  private final Maker<D> maker;
  private final Consumer<D> closer;
  private final DeviceRegistry registry;
  private final Function<String, FileCacheEngine> engines;
  private Map<String, ?> settings = Map.of();
  private Live<D> live;

  /** The constructor of a device. */
  @FunctionalInterface
  interface Maker<D> {
    /**
     * Makes a device.
     *
     * @throws IllegalArgumentException if it cannot take these settings
     */
    D make(Map<String, ?> settings, CacheEngine engine, BurstSource bursts);
  }

  /** A device with what it has of its own. */
  private record Live<D extends Device>(
      D device, FileCacheEngine engine, QueueBurstService bursts) {}

  /**
   * Declares a device, which is not there before it is started.
   *
   * @param closer ends a device that was made
   * @param engines makes the engine of a bundle of this name
   */
  BuiltInDevice(
      String id,
      Maker<D> maker,
      Consumer<D> closer,
      DeviceRegistry registry,
      Function<String, FileCacheEngine> engines) {
    this.id = id;
    this.maker = maker;
    this.closer = closer;
    this.registry = registry;
    this.engines = engines;
  }

  String id() {
    return id;
  }

  /** Returns the name of its settings, and of the bundle that has the same device. */
  String part() {
    return "io.thalamus." + id;
  }

  boolean isHere() {
    return live != null;
  }

  /** Starts it with the settings that it has. */
  void start() {
    start(make(settings));
  }

  private void start(Live<D> next) {
    live = next;
    Map<String, Object> properties = new HashMap<>(settings);
    properties.put(DeviceDriver.NAMESPACE, id);
    registry.addDevice(next.device(), properties);
  }

  private Live<D> make(Map<String, ?> changed) {
    FileCacheEngine engine = engines.apply(part());
    QueueBurstService bursts = new QueueBurstService();
    return new Live<>(maker.make(changed, engine, bursts::serve), engine, bursts);
  }

  /** Ends it when its running calls have ended. */
  void stop() {
    Live<D> leaving = live;
    live = null;
    registry.removeDevice(leaving.device());
    close(leaving);
  }

  /**
   * Gives it other settings, with which it leaves and comes back if it is here.
   *
   * @throws IllegalArgumentException if it cannot take them; it stays as it was
   */
  void configure(Map<String, ?> changed) {
    Live<D> next = make(changed);
    settings = changed;
    if (isHere()) {
      stop();
      start(next);
    } else {
      close(next);
    }
  }

  private void close(Live<D> left) {
    closer.accept(left.device());
    left.bursts().close();
    left.engine().close();
  }
}
