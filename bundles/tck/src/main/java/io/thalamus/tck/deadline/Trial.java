// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.deadline;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.memory.files.Digests;
import io.thalamus.model.CacheToken;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Priority;
import io.thalamus.tck.caching.CacheFiles;
import io.thalamus.tck.caching.CachingTests;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Probes;
import io.thalamus.tck.check.TestRequest;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;

/**
 * A model that is prepared and executed with deadlines, and what it computes without any. Used by
 * one thread. Borrows the device, the model and the folder.
 */
final class Trial {
  /** Longer than any example takes; only an answer that is lost makes anyone wait for it. */
  private static final Duration LIMIT = Duration.ofSeconds(120);

  private final Device device;
  private final Model model;
  private final Supplier<TestRequest> requests;
  private final Path directory;
  private final byte[] expected;
  private int files;

  /**
   * A trial of a model that the device takes.
   *
   * @param requests makes requests for it, with equal inputs
   * @param directory for cache files, which nobody else uses
   * @throws DeviceException where the device does not prepare the model without a deadline
   */
  Trial(Device device, Model model, Supplier<TestRequest> requests, Path directory)
      throws DeviceException {
    this.device = device;
    this.model = model;
    this.requests = requests;
    this.directory = directory;
    try (PreparedModel prepared = device.prepare(model, PrepareConfig.DEFAULT)) {
      this.expected = outputs(prepared);
    }
  }

  /** An execution that ends with a status. */
  @FunctionalInterface
  interface Executing {
    ErrorStatus run(PreparedModel prepared, Request request, ExecutionConfig config)
        throws Exception;
  }

  /** Returns whether the model can be called in a way: a fenced one knows its outputs before. */
  boolean isPossible(Way way) {
    return way != Way.FENCED
        || model.main().outputIndexes().stream()
            .allMatch(index -> model.main().operands().get(index).isSizeKnown());
  }

  /** Returns calls of a way, which are to be closed. */
  Calls open(Way way, Priority priority, BurstService bursts) throws Exception {
    return switch (way) {
      case PREPARE -> config -> prepare(prepareConfig(priority, config));
      case RESTORE -> restoring(priority);
      case EXECUTE ->
          executing(
              priority, (prepared, request, config) -> prepared.execute(request, config).status());
      case FENCED ->
          executing(
              priority,
              (prepared, request, config) ->
                  Probes.fenced(prepared, request, SyncFence.signalled(), config));
      case BURST -> byBurst(priority, bursts);
    };
  }

  private static PrepareConfig prepareConfig(Priority priority, ExecutionConfig config) {
    return PrepareConfig.DEFAULT.with(priority).with(config.deadline()).with(config.control());
  }

  private byte[] outputs(PreparedModel prepared) {
    try (TestRequest request = requests.get()) {
      Expect.completed("it", prepared.execute(request.request(), ExecutionConfig.DEFAULT));
      return request.allOutputs();
    }
  }

  private ErrorStatus use(PreparedModel prepared, String wrong) {
    Expect.equal(expected, outputs(prepared), wrong);
    return ErrorStatus.NONE;
  }

  /** With cache files, where the device has any: nothing may be restored that is wrong. */
  private ErrorStatus prepare(PrepareConfig config) throws Exception {
    if (!CachingTests.isClaimed(device)) {
      return prepareWith(config);
    }
    return call(
        newFiles(),
        config,
        cached -> {
          ErrorStatus status = prepareWith(cached);
          if (status != ErrorStatus.NONE) {
            expectNothingWrong(cached.with(PrepareConfig.DEFAULT.deadline()));
          }
          return status;
        });
  }

  private ErrorStatus prepareWith(PrepareConfig config) {
    try (PreparedModel prepared = device.prepare(model, config)) {
      return use(prepared, "a model that was prepared before its deadline computes wrongly");
    } catch (DeviceException e) {
      return e.status();
    }
  }

  private void expectNothingWrong(PrepareConfig config) {
    try (PreparedModel restored =
        device.prepareFromCache(config.with(PrepareConfig.DEFAULT.control()))) {
      use(restored, "a refused prepare left a cache that is restored to something wrong");
    } catch (DeviceException e) {
      // Nothing was stored.
      return;
    }
  }

  private Calls restoring(Priority priority) throws Exception {
    CacheFiles stored = newFiles();
    call(
        stored,
        PrepareConfig.DEFAULT.with(priority),
        cached -> {
          device.prepare(model, cached).close();
          return ErrorStatus.NONE;
        });
    return config ->
        call(
            stored,
            prepareConfig(priority, config),
            cached -> {
              try (PreparedModel restored = device.prepareFromCache(cached)) {
                return use(restored, "a model that was restored before its deadline is wrong");
              } catch (DeviceException e) {
                return e.status();
              }
            });
  }

  private CacheFiles newFiles() throws IOException {
    return new CacheFiles(directory.resolve("files" + files++), device.info().cacheNeeds());
  }

  private ErrorStatus call(
      CacheFiles cache, PrepareConfig config, CacheFiles.Call<ErrorStatus> call) throws Exception {
    CacheToken token = CacheToken.of(Digests.sha256(directory.toString()));
    return cache.with(token, cached -> call.run(config.with(cached.cache().orElseThrow())));
  }

  private Calls byBurst(Priority priority, BurstService bursts) throws Exception {
    PreparedModel prepared = prepared(priority);
    BurstClient client;
    try {
      client = bursts.open(prepared, BurstSettings.DEFAULT);
    } catch (DeviceException | RuntimeException | Error e) {
      prepared.close();
      throw e;
    }
    return new Executions(
        prepared, (_, request, config) -> send(client, request, config), client::close);
  }

  private static ErrorStatus send(BurstClient client, Request request, ExecutionConfig config) {
    Expect.that(client.send(request, config), "the burst did not take the request");
    ExecutionResult result = client.receive(LIMIT.toNanos());
    Expect.that(result != null, "the burst gave no result within " + LIMIT);
    return result.status();
  }

  /** Returns calls that execute a model in a way of their own, which are to be closed. */
  Calls executing(Priority priority, Executing executing) throws DeviceException {
    return new Executions(prepared(priority), executing, () -> {});
  }

  private PreparedModel prepared(Priority priority) throws DeviceException {
    return device.prepare(model, PrepareConfig.DEFAULT.with(priority));
  }

  /** Executions of one prepared model, which they own. */
  private final class Executions implements Calls {
    private final PreparedModel prepared;
    private final Executing executing;
    private final Runnable end;
    private final TestRequest request = requests.get();
    private final byte[] untouched = request.allOutputs();

    Executions(PreparedModel prepared, Executing executing, Runnable end) {
      this.prepared = prepared;
      this.executing = executing;
      this.end = end;
    }

    @Override
    public ErrorStatus run(ExecutionConfig config) throws Exception {
      request.outputs().segment().copyFrom(MemorySegment.ofArray(untouched));
      boolean isLate = config.deadline().hasPassed();
      ErrorStatus status = executing.run(prepared, request.request(), config);
      if (status == ErrorStatus.NONE) {
        Expect.equal(expected, request.allOutputs(), "the outputs are wrong");
      } else if (isLate) {
        Expect.that(
            Arrays.equals(untouched, request.allOutputs()),
            "the deadline had passed, and outputs were written");
      }
      return status;
    }

    @Override
    public void close() {
      List.of(end, request::close, (Runnable) prepared::close).forEach(Runnable::run);
    }
  }
}
