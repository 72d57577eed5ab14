// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.Device;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.Parallel;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.DeviceTarget;
import io.thalamus.vectors.Example;
import io.thalamus.vectors.Outcome;
import io.thalamus.vectors.RunOptions;
import io.thalamus.vectors.VectorRunner;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Checks of bursts through a client. Immutable.
 *
 * @param isServedByCaller whether the clients ask to be served in the thread that receives
 */
record ClientChecks(BurstSuite suite, boolean isServedByCaller) {
  private static final int ROUNDS = 50;
  private static final int MEMORIES = 20;
  private static final int DEPTH = 4;
  private static final int USUAL = BurstSettings.DEFAULT_QUEUE_LENGTH;
  private static final long ALIGNMENT = 64;
  private static final long LOOK_NANOS = 1_000_000;

  /** Something that is done with an example and a burst on it. */
  @FunctionalInterface
  private interface Body {
    void run(Burst burst) throws Exception;
  }

  List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    checks.add(check("the same memories", ClientChecks::sameMemories));
    checks.add(check("other places in the same memories", ClientChecks::otherPlaces));
    checks.add(check("other memories each time", burst -> otherMemories(burst)));
    checks.add(check("invalid requests", ClientChecks::invalidRequests));
    checks.add(check("version 1", settings(1, USUAL, 1), ClientChecks::version1));
    checks.add(check("one burst after another", this::afterAnother));
    checks.add(check("two bursts at once", this::atOnce));
    checks.add(check("closed twice", ClientChecks::closed));
    checks.add(check("a deadline that has passed", ClientChecks::passedDeadline));
    checks.add(check("a deadline far away", ClientChecks::farDeadline));
    checks.add(check("cancelled before", ClientChecks::cancelledBefore));
    if (isServedByCaller) {
      return checks;
    }
    checks.add(check("served by the driver", ClientChecks::servedByDriver));
    checks.add(check("memories that stay", ClientChecks::memoriesThatStay));
    checks.add(check("results in order", settings(DEPTH, USUAL, 2), this::inOrder));
    checks.add(check("as deep as agreed", settings(DEPTH, USUAL, 2), ClientChecks::depth));
    checks.add(new Check("a request without room", this::tooLarge));
    for (Example example : suite.some()) {
      checks.add(openOutputs("outputs unspecified", example, RunOptions.Outputs.UNSPECIFIED));
      checks.add(openOutputs("outputs insufficient", example, RunOptions.Outputs.INSUFFICIENT));
    }
    return checks;
  }

  /** A burst on an example. */
  private record Burst(
      DecodedExample decoded, PreparedModel model, BurstClient client, Duration limit) {
    ExecutionResult execute(Request request, ExecutionConfig config) {
      BurstSuite.send(client, request, config);
      return receive();
    }

    ExecutionResult receive() {
      return BurstSuite.receive(client, limit);
    }

    /** Executes a request, which must end as it does synchronously. */
    void served(Request request) {
      SamePath path = SamePath.of(model, request, ExecutionConfig.DEFAULT);
      path.expectSame(execute(request, ExecutionConfig.DEFAULT));
      path.restore();
    }

    void served() {
      try (TestRequest request = TestRequest.of(decoded)) {
        served(request.request());
        free(request);
      }
    }

    void servesTheNext() throws Exception {
      Expect.at("the next request", this::served);
    }

    void free(TestRequest request) {
      client.freeMemory(request.inputs());
      client.freeMemory(request.outputs());
    }
  }

  private Check check(String name, Body body) {
    return check(name, settings(1, USUAL, 2), body);
  }

  private Check check(String name, BurstSettings settings, Body body) {
    return new Check(
        isServedByCaller ? name + BurstSuite.BY_CALLER : name, () -> each(settings, body));
  }

  private BurstSettings settings(int depth, int queueLength, int version) {
    BurstSettings usual = BurstSettings.DEFAULT;
    return new BurstSettings(
        depth, usual.pollWindow(), queueLength, version, usual.buffers(), isServedByCaller);
  }

  private void each(BurstSettings settings, Body body) throws Exception {
    for (Example example : suite.some()) {
      Expect.at(example.name(), () -> with(example, settings, body));
    }
  }

  private void with(Example example, BurstSettings settings, Body body) throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel model = suite.device().prepare(decoded.model(), PrepareConfig.DEFAULT);
        BurstClient client = suite.service().open(model, settings)) {
      body.run(new Burst(decoded, model, client, suite.limit()));
    }
  }

  /** A device may leave bursts to the service, which executes the requests one by one. */
  private static void servedByDriver(Burst burst) throws Exception {
    burst.servesTheNext();
    if (!burst.client().isServedByDriver()) {
      throw Expect.skip("the device leaves its bursts to the service");
    }
  }

  /** The contents of the memories change from request to request. */
  private static void sameMemories(Burst burst) {
    try (TestRequest request = TestRequest.of(burst.decoded());
        TestRequest original = TestRequest.of(burst.decoded())) {
      for (int i = 0; i < ROUNDS; i++) {
        if (i % 2 == 0) {
          request.inputs().segment().copyFrom(original.inputs().segment());
        } else {
          request.inputs().segment().fill((byte) 0);
        }
        burst.served(request.request());
      }
    }
  }

  /** Two requests that differ in nothing but the offsets of their arguments. */
  private static void otherPlaces(Burst burst) {
    try (TestRequest plain = TestRequest.of(burst.decoded());
        SharedMemory inputs = twice(plain.inputs());
        SharedMemory outputs = twice(plain.outputs())) {
      inputs.segment().copyFrom(plain.inputs().segment());
      outputs.segment().copyFrom(plain.outputs().segment());
      Request first = moved(plain.request(), inputs, outputs, 0, 0);
      Request second =
          moved(plain.request(), inputs, outputs, inputs.size() / 2, outputs.size() / 2);
      for (Request request : List.of(first, first, second, second, first, second)) {
        burst.served(request);
      }
    }
  }

  private static SharedMemory twice(SharedMemory memory) {
    long size = (memory.size() + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return SharedMemory.allocate(MemoryKind.ASHMEM, 2 * size);
  }

  private static Request moved(
      Request request, SharedMemory inputs, SharedMemory outputs, long inputsBy, long outputsBy) {
    return new Request(
        request.inputs().stream().map(input -> moved(input, inputsBy)).toList(),
        request.outputs().stream().map(output -> moved(output, outputsBy)).toList(),
        List.of(new MemoryPool.Shared(inputs), new MemoryPool.Shared(outputs)));
  }

  private static Request.Argument moved(Request.Argument argument, long by) {
    return argument instanceof Request.Location place
        ? new Request.Location(place.pool(), place.offset() + by, place.length(), place.shape())
        : argument;
  }

  private static void otherMemories(Burst burst) {
    for (int i = 0; i < ROUNDS; i++) {
      TestRequest request = TestRequest.of(burst.decoded());
      try (request) {
        if (i % 2 == 1) {
          request.inputs().segment().fill((byte) 0);
        }
        burst.served(request.request());
        burst.free(request);
      }
      expectUnmapped(request.inputs(), burst.limit());
      expectUnmapped(request.outputs(), burst.limit());
    }
  }

  private static void memoriesThatStay(Burst burst) {
    List<TestRequest> requests = new ArrayList<>();
    try {
      for (int i = 0; i < MEMORIES; i++) {
        requests.add(TestRequest.of(burst.decoded()));
      }
      for (int i = 0; i < 3 * MEMORIES; i++) {
        burst.served(requests.get(i * 7 % MEMORIES).request());
      }
    } finally {
      requests.forEach(TestRequest::close);
    }
    // Closed memories that the burst still has in slots are mapped for as long as they are there.
    burst.client().close();
    for (TestRequest request : requests) {
      expectUnmapped(request.inputs(), burst.limit());
    }
  }

  private static void invalidRequests(Burst burst) throws Exception {
    try (TestRequest valid = TestRequest.of(burst.decoded())) {
      Request request = valid.request();
      List<Request> invalid = new ArrayList<>();
      invalid.add(new Request(request.inputs(), List.of(), request.pools()));
      invalid.add(new Request(without(request.inputs()), request.outputs(), request.pools()));
      invalid.add(new Request(request.inputs(), without(request.outputs()), request.pools()));
      invalid.add(new Request(request.inputs(), request.outputs(), without(request.pools())));
      invalid.add(
          new Request(
              request.inputs(),
              request.outputs().stream().map(output -> moved(output, 1L << 20)).toList(),
              request.pools()));
      for (Request one : invalid) {
        ExecutionResult result = burst.execute(one, ExecutionConfig.DEFAULT);
        Expect.failed(result, ErrorStatus.INVALID_ARGUMENT);
        burst.served(request);
      }
    }
    burst.servesTheNext();
  }

  private static <T> List<T> without(List<T> list) {
    return list.isEmpty() ? list : list.subList(0, list.size() - 1);
  }

  /** Valid and invalid requests in turns, all under way at once. */
  private void inOrder(Burst burst) {
    try (TestRequest valid = TestRequest.of(burst.decoded());
        TestRequest other = TestRequest.of(burst.decoded())) {
      other.inputs().segment().fill((byte) 0);
      Request request = valid.request();
      Request invalid = new Request(request.inputs(), List.of(), request.pools());
      SamePath first = SamePath.of(burst.model(), request, ExecutionConfig.DEFAULT);
      SamePath third = SamePath.of(burst.model(), other.request(), ExecutionConfig.DEFAULT);
      for (int round = 0; round < ROUNDS; round++) {
        first.restore();
        third.restore();
        for (Request one : List.of(request, invalid, other.request(), invalid)) {
          Expect.that(
              burst.client().send(one, ExecutionConfig.DEFAULT),
              "the burst of depth " + DEPTH + " did not take a request");
        }
        first.expectSame(burst.receive());
        Expect.failed(burst.receive(), ErrorStatus.INVALID_ARGUMENT);
        third.expectSame(burst.receive());
        Expect.failed(burst.receive(), ErrorStatus.INVALID_ARGUMENT);
      }
    }
  }

  /** A request too many is not taken, and those before it come to their end. */
  private static void depth(Burst burst) throws Exception {
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      for (int i = 0; i < DEPTH; i++) {
        Expect.that(
            burst.client().send(request.request(), ExecutionConfig.DEFAULT),
            "the burst of depth " + DEPTH + " did not take request " + i);
        Expect.that(
            burst.client().underWay() == i + 1,
            burst.client().underWay() + " requests are said to be under way, not " + (i + 1));
      }
      Expect.that(
          !burst.client().send(request.request(), ExecutionConfig.DEFAULT),
          "the burst took more requests than its depth");
      for (int i = 0; i < DEPTH; i++) {
        burst.receive();
      }
      Expect.that(burst.client().underWay() == 0, "a request is said to be under way after all");
    }
    burst.servesTheNext();
  }

  /** A request that version 1 cannot express is not taken, and nothing is executed. */
  private static void version1(Burst burst) throws Exception {
    sameMemories(burst);
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      Expect.that(
          !burst
              .client()
              .send(
                  request.request(),
                  ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofHours(1)))),
          "a burst of version 1 took a deadline, which its packets cannot say");
    }
    burst.servesTheNext();
  }

  private void tooLarge() throws Exception {
    for (Example example : suite.some()) {
      int length;
      try (DecodedExample decoded = example.decode();
          TestRequest request = TestRequest.of(decoded)) {
        length = RequestPacket.of(request.request(), List.of(0, 1), false).size();
      }
      Expect.at(
          example.name(),
          () -> {
            with(example, settings(1, length - 1, 1), ClientChecks::isNotTaken);
            with(example, settings(1, length, 1), ClientChecks::isTaken);
          });
    }
  }

  private static void isNotTaken(Burst burst) {
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      Expect.that(
          !burst.client().send(request.request(), ExecutionConfig.DEFAULT),
          "the burst took a request that is larger than its queue");
      Expect.that(
          !burst.client().isBroken() && burst.client().underWay() == 0,
          "after a request that is too large the burst is said to be broken, or busy");
    }
  }

  private static void isTaken(Burst burst) {
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      // Its result may have no room in a queue that short: an answer is all that is due.
      burst.execute(request.request(), ExecutionConfig.DEFAULT);
    }
  }

  private Check openOutputs(String name, Example example, RunOptions.Outputs outputs) {
    return new Check(
        name + " " + example.name(),
        () -> {
          Device burst = suite.decorated(BurstSettings.DEFAULT);
          Outcome outcome =
              new VectorRunner(new DeviceTarget(burst), RunOptions.DEFAULT.with(outputs))
                  .run(example);
          switch (outcome) {
            case Outcome.Passed _ -> {}
            case Outcome.Failed failed -> throw Expect.failure(failed.reason());
            case Outcome.Skipped skipped -> throw Expect.skip(skipped.reason());
          }
        });
  }

  private void afterAnother(Burst burst) throws Exception {
    burst.served();
    burst.client().close();
    for (int i = 0; i < DEPTH; i++) {
      try (BurstClient next = suite.service().open(burst.model(), BurstSettings.DEFAULT)) {
        new Burst(burst.decoded(), burst.model(), next, suite.limit()).served();
      }
    }
  }

  private void atOnce(Burst burst) throws Exception {
    try (BurstClient second = suite.service().open(burst.model(), BurstSettings.DEFAULT)) {
      Burst other = new Burst(burst.decoded(), burst.model(), second, suite.limit());
      Parallel.map(
          2,
          List.of(burst, other),
          one -> {
            for (int i = 0; i < ROUNDS; i++) {
              one.served();
            }
            return null;
          });
    }
  }

  private static void closed(Burst burst) {
    BurstClient client = burst.client();
    burst.served();
    Expect.that(!client.isBroken(), "an open burst is said to be broken");
    client.close();
    client.close();
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      Expect.that(
          !client.send(request.request(), ExecutionConfig.DEFAULT),
          "a burst that is closed took a request");
      client.freeMemory(request.inputs());
    }
    client.cancel();
    Expect.that(client.isBroken(), "a closed burst is not said to be broken");
  }

  private static void passedDeadline(Burst burst) throws Exception {
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      ExecutionConfig late = ExecutionConfig.DEFAULT.with(Deadline.after(Duration.ofSeconds(-1)));
      Expect.failed(burst.execute(request.request(), late), Expect.missed());
    }
    burst.servesTheNext();
  }

  private static void farDeadline(Burst burst) throws Exception {
    ExecutionConfig far =
        ExecutionConfig.DEFAULT
            .with(Deadline.after(Duration.ofHours(1)))
            .withLoopTimeout(Duration.ofSeconds(3))
            .withMeasureTiming(true);
    try (TestRequest request = TestRequest.of(burst.decoded())) {
      SamePath path = SamePath.of(burst.model(), request.request(), far);
      path.expectSame(burst.execute(request.request(), far));
    }
    burst.servesTheNext();
  }

  /** A cancellation ends what is under way, and nothing that comes later. */
  private static void cancelledBefore(Burst burst) {
    for (int i = 0; i < ROUNDS; i++) {
      burst.client().cancel();
      burst.served();
    }
  }

  /** Expects that nobody keeps memory mapped that its owner has closed. */
  static void expectUnmapped(SharedMemory memory, Duration limit) {
    long end = System.nanoTime() + limit.toNanos();
    while (memory.segment().scope().isAlive() && System.nanoTime() < end) {
      LockSupport.parkNanos(LOOK_NANOS);
    }
    Expect.that(
        !memory.segment().scope().isAlive(),
        "memory that its owner closed, and the burst let go of, is still mapped");
  }
}
