// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.device;

import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.model.Capabilities;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.OperandCode;
import io.thalamus.model.OperandType;
import io.thalamus.model.PerformanceInfo;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/**
 * A device that computes as the CPU device does, in two threads of its own, and declares that it is
 * faster than any other. Thread-safe; owns its threads until it is closed.
 */
final class SpareDevice implements Device, AutoCloseable {
  private static final float COST = 0.1f;
  private static final int THREADS = 2;
  private static final long CLOSE_SECONDS = 3;

  private final DeviceInfo info;
  private final List<String> operations;
  private final Device reference;
  private final Gate gate;
  private final ExecutorService threads;

  SpareDevice(
      String name,
      String version,
      DeviceType type,
      List<String> operations,
      Device reference,
      Gate gate) {
    this.info = facts(name, version, type);
    this.operations = operations;
    this.reference = reference;
    this.gate = gate;
    this.threads =
        Executors.newFixedThreadPool(THREADS, Thread.ofPlatform().name(name + "-", 0).factory());
  }

  private static DeviceInfo facts(String name, String version, DeviceType type) {
    PerformanceInfo fast = PerformanceInfo.of(COST);
    Map<OperandType, PerformanceInfo> all = new HashMap<>();
    for (OperandCode code : OperandCode.values()) {
      if (code != OperandCode.SUBGRAPH) {
        all.put(code, fast);
      }
    }
    return DeviceInfo.builder("test-" + name, version)
        .type(type)
        .capabilities(new Capabilities(fast, fast, all, fast, fast))
        .exactQuantized(true)
        .build();
  }

  @Override
  public DeviceInfo info() {
    return info;
  }

  @Override
  public BitSet supportedOperations(Model model) throws DeviceException {
    BitSet supported = reference.supportedOperations(model);
    for (int i = 0; i < model.main().operations().size(); i++) {
      String name = model.main().operations().get(i).type().text();
      if (!operations.isEmpty() && !operations.contains(name)) {
        supported.clear(i);
      }
    }
    return supported;
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    if (threads.isShutdown()) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, info.name() + " is closed");
    }
    return new Prepared(reference.prepare(model, config));
  }

  private ExecutionResult execute(PreparedModel model, Request request, ExecutionConfig config) {
    Future<ExecutionResult> future;
    try {
      future =
          threads.submit(
              () ->
                  gate.pass()
                      ? model.execute(request, config)
                      : failed("the gate of the test is shut"));
    } catch (RejectedExecutionException e) {
      return failed("it is closed");
    }
    try {
      return future.get();
    } catch (ExecutionException e) {
      return failed("it broke: " + e.getCause());
    } catch (InterruptedException e) {
      future.cancel(true);
      Thread.currentThread().interrupt();
      return failed("it was interrupted");
    }
  }

  private static ExecutionResult failed(String why) {
    return new ExecutionResult.Failed(ErrorStatus.GENERAL_FAILURE, why);
  }

  @Override
  public void close() {
    threads.shutdownNow();
    try {
      // A driver that loops cannot end its threads. Tests count them; an exception from here would
      // hold the class loader in the framework's log.
      threads.awaitTermination(CLOSE_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private final class Prepared implements PreparedModel {
    private final PreparedModel model;

    Prepared(PreparedModel model) {
      this.model = model;
    }

    @Override
    public ExecutionResult execute(Request request, ExecutionConfig config) {
      return SpareDevice.this.execute(model, request, config);
    }

    @Override
    public void close() {
      model.close();
    }
  }
}
