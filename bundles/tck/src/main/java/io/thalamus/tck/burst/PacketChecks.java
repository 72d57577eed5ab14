// SPDX-License-Identifier: Apache-2.0
package io.thalamus.tck.burst;

import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Protocol;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PreparedModel;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import io.thalamus.tck.check.Check;
import io.thalamus.tck.check.Expect;
import io.thalamus.tck.check.TestRequest;
import io.thalamus.vectors.DecodedExample;
import io.thalamus.vectors.Example;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Checks of the server of a burst, by packets of the kit's own: what is in the slots, what comes
 * back, and that no malformed packet ends it. Immutable.
 */
record PacketChecks(BurstSuite suite) {
  private static final int ROUNDS = 40;

  /** Odd, so that elements come to stand where others stood before. */
  private static final int SHORT_QUEUE = 37;

  /** A check of one example. */
  @FunctionalInterface
  private interface Body {
    void run(Bench bench) throws Exception;
  }

  List<Check> checks() {
    List<Check> checks = new ArrayList<>();
    Example first = suite.examples().getFirst();
    checks.add(check("slots are asked for once", first, PacketChecks::askedOnce));
    checks.add(check("a slot that is freed and given again", first, PacketChecks::givenAgain));
    checks.add(check("freed memory is unmapped", first, bench -> unmapped(bench, true)));
    checks.add(check("memory is unmapped when closed", first, bench -> unmapped(bench, false)));
    checks.add(check("an unknown slot", first, PacketChecks::unknownSlot));
    checks.add(check("slots that the client cannot tell", first, PacketChecks::badCallbacks));
    checks.add(
        new Check(
            "a result without room", () -> with(first, Protocol.HAL_1_2, 2, PacketChecks::noRoom)));
    checks.add(
        new Check(
            "unused bytes are zero",
            () -> with(first, Protocol.HAL_1_2, SHORT_QUEUE, PacketChecks::unusedBytes)));
    checks.add(check("timing as it was asked for", first, PacketChecks::timing));
    checks.add(new Check("bad queues are refused", () -> badQueues(first)));
    checks.add(new Check("elements of version 2", () -> version2(first)));
    AtomicBoolean isSilent = new AtomicBoolean();
    for (Example example : suite.examples()) {
      checks.add(check("packets " + example.name(), example, bench -> packets(bench, isSilent)));
    }
    return checks;
  }

  private Check check(String name, Example example, Body body) {
    return new Check(
        name, () -> with(example, Protocol.HAL_1_2, BurstSettings.DEFAULT_QUEUE_LENGTH, body));
  }

  private void with(Example example, Protocol protocol, int resultLength, Body body)
      throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel model = suite.device().prepare(decoded.model(), PrepareConfig.DEFAULT);
        RawBurst burst = suite.open(model, protocol, resultLength);
        TestRequest request = TestRequest.of(decoded)) {
      burst.memories().put(0, request.inputs());
      burst.memories().put(1, request.outputs());
      body.run(new Bench(decoded, model, burst, request.request(), request));
    }
  }

  /**
   * An example that is prepared, and a burst on it.
   *
   * @param request in the memories of slots 0 and 1
   */
  private record Bench(
      DecodedExample decoded,
      PreparedModel model,
      RawBurst burst,
      Request request,
      TestRequest memories) {
    List<Datum> packet() {
      return RequestPacket.of(request, List.of(0, 1), false);
    }

    /** Sends the valid request, which must end as it does synchronously. */
    ResultPacket served() {
      return served(request);
    }

    ResultPacket served(Request other) {
      SamePath path = SamePath.of(model, other, ExecutionConfig.DEFAULT);
      ResultPacket result = burst.exchange(RequestPacket.of(other, List.of(0, 1), false));
      path.expectSame(result);
      path.restore();
      return result;
    }

    /** The same with an output less, which is invalid. */
    Request withoutOutput() {
      return new Request(
          request.inputs(),
          request.outputs().subList(1, request.outputs().size()),
          request.pools());
    }

    /** Expects that a valid request is served next. */
    void servesTheNext() throws Exception {
      Expect.at("the next request", this::served);
      burst.expectNoMore();
    }
  }

  private static void askedOnce(Bench bench) {
    for (int i = 0; i < 3; i++) {
      bench.served();
    }
    List<Integer> asked =
        bench.burst().takeAsked().stream().flatMap(List::stream).sorted().toList();
    Expect.that(
        asked.equals(List.of(0, 1)),
        "three requests in slots 0 and 1 asked for the slots " + asked);
  }

  /** Knowledge of a slot ends when the slot is freed. */
  private static void givenAgain(Bench bench) throws Exception {
    RawBurst burst = bench.burst();
    bench.served();
    burst.freeMemory(0);
    burst.freeMemory(1);
    burst.freeMemory(2); // holds nothing: ignored
    burst.takeAsked();
    try (TestRequest other = TestRequest.of(bench.decoded())) {
      burst.memories().put(0, other.inputs());
      burst.memories().put(1, other.outputs());
      other.inputs().segment().fill((byte) 0);
      new Bench(bench.decoded(), bench.model(), burst, other.request(), other).served();
      burst.freeMemory(0);
      burst.freeMemory(1);
    }
    List<Integer> asked = burst.takeAsked().stream().flatMap(List::stream).sorted().toList();
    Expect.that(
        asked.equals(List.of(0, 1)), "after slots 0 and 1 were freed it asked for " + asked);
  }

  private void unmapped(Bench bench, boolean isFreed) {
    bench.served();
    if (isFreed) {
      bench.burst().freeMemory(0);
      bench.burst().freeMemory(1);
    } else {
      bench.burst().close();
    }
    bench.memories().close();
    ClientChecks.expectUnmapped(bench.memories().inputs(), suite.limit());
    ClientChecks.expectUnmapped(bench.memories().outputs(), suite.limit());
  }

  private static void refused(Bench bench, String what, List<Datum> packet) throws Exception {
    ResultPacket result = bench.burst().exchange(packet);
    Expect.status(what, result.status(), ErrorStatus.INVALID_ARGUMENT);
    Expect.that(result.outputs().isEmpty(), what + " was answered with " + result.outputs());
    bench.servesTheNext();
  }

  private static void unknownSlot(Bench bench) throws Exception {
    for (List<Integer> slots :
        List.of(List.of(0, 7), List.of(7, 1), List.of(-1, 1), List.of(0, Integer.MIN_VALUE))) {
      refused(bench, "slots " + slots, RequestPacket.of(bench.request(), slots, false));
    }
  }

  /** A request whose memories are missing fails; the one after, which has them, does not. */
  private static void badCallbacks(Bench bench) throws Exception {
    BurstCallback failing =
        _ -> {
          throw DeviceException.failure("the kit's");
        };
    BurstCallback throwing =
        _ -> {
          throw new IllegalStateException("the kit's");
        };
    for (Map.Entry<String, BurstCallback> bad :
        List.of(
            Map.entry("a callback that fails", failing),
            Map.entry("a callback that throws", throwing),
            Map.entry("a callback that returns too little", (BurstCallback) _ -> List.of()),
            Map.entry("a callback that returns nothing", (BurstCallback) _ -> null))) {
      bench.burst().freeMemory(0);
      bench.burst().memories().put(0, bench.memories().inputs());
      bench.burst().setCallback(bad.getValue());
      ResultPacket result = bench.burst().exchange(bench.packet());
      bench.burst().setCallback(null);
      Expect.status(bad.getKey(), result.status(), ErrorStatus.INVALID_ARGUMENT);
      bench.servesTheNext();
    }
  }

  /** The queue of results has two elements: a failure fits, shapes of outputs do not. */
  private static void noRoom(Bench bench) throws Exception {
    SamePath path = SamePath.of(bench.model(), bench.request(), ExecutionConfig.DEFAULT);
    boolean hasShapes =
        path.result() instanceof ExecutionResult.Completed completed
            && !completed.outputs().isEmpty();
    ResultPacket result = bench.burst().exchange(bench.packet());
    path.restore();
    if (hasShapes) {
      Expect.that(result.isBareFailure(), "a result without room was answered with " + result);
    } else {
      path.expectSame(result);
    }
    ResultPacket failed =
        bench.burst().exchange(RequestPacket.of(bench.withoutOutput(), List.of(0, 1), false));
    Expect.status("an invalid request after it", failed.status(), ErrorStatus.INVALID_ARGUMENT);
  }

  private static void unusedBytes(Bench bench) {
    Request invalid = bench.withoutOutput();
    for (int i = 0; i < ROUNDS; i++) {
      for (ResultPacket result : List.of(bench.served(), bench.served(invalid))) {
        Expect.that(result.leak().isEmpty(), result.leak());
      }
    }
  }

  private static void timing(Bench bench) {
    ExecutionConfig timed = ExecutionConfig.DEFAULT.withMeasureTiming(true);
    ExecutionResult synchronous = SamePath.of(bench.model(), bench.request(), timed).result();
    boolean isTimed =
        synchronous instanceof ExecutionResult.Completed completed
            && completed.timing().inDriver().isPresent();
    Expect.that(!bench.served().isTimed(), "timing was not asked for, but is there");
    ResultPacket result =
        bench.burst().exchange(RequestPacket.of(bench.request(), List.of(0, 1), true));
    Expect.that(
        result.isTimed() == isTimed,
        "timing was asked for: by burst "
            + result
            + ", synchronously "
            + (isTimed ? "there is" : "there is none"));
  }

  private void badQueues(Example example) throws Exception {
    try (DecodedExample decoded = example.decode();
        PreparedModel model = suite.device().prepare(decoded.model(), PrepareConfig.DEFAULT);
        SharedMemory zeros = SharedMemory.allocate(MemoryKind.ASHMEM, 1 << 16);
        SharedMemory tiny = SharedMemory.allocate(MemoryKind.ASHMEM, 1)) {
      for (QueueDescriptor bad :
          List.of(
              new QueueDescriptor(zeros, BurstSettings.DEFAULT_QUEUE_LENGTH, Datum.BYTES),
              new QueueDescriptor(zeros, Integer.MAX_VALUE, Datum.BYTES),
              new QueueDescriptor(zeros, BurstSettings.DEFAULT_QUEUE_LENGTH, 1),
              new QueueDescriptor(tiny, BurstSettings.DEFAULT_QUEUE_LENGTH, Datum.BYTES))) {
        Expect.refused(bad.toString(), () -> serve(model, bad), ErrorStatus.INVALID_ARGUMENT);
      }
    }
  }

  private void serve(PreparedModel model, QueueDescriptor queue) throws DeviceException {
    BurstConfig config =
        new BurstConfig(
            _ -> List.of(), queue, queue, Protocol.HAL_1_2, BurstConfig.DEFAULT_POLL_WINDOW);
    try (BurstContext _ = RawBurst.configure(suite.service(), model, config)) {
      // Only a server that takes such queues comes here.
    }
  }

  /** Further elements of version 2 that are malformed, or say what cannot be. */
  private void version2(Example example) throws Exception {
    try (SharedMemory control = SharedMemory.allocate(MemoryKind.ASHMEM, 4096)) {
      Protocol protocol = new BurstConfig.Version2(control, _ -> null);
      with(
          example,
          protocol,
          BurstSettings.DEFAULT_QUEUE_LENGTH,
          PacketChecks::badElementsOfVersion2);
    }
  }

  private static void badElementsOfVersion2(Bench bench) throws Exception {
    bench.servesTheNext();
    List<Datum> valid = bench.packet();
    Datum deadline = Datum.of(Datum.DEADLINE, 0, -1, Integer.MAX_VALUE); // centuries from now
    Datum timeout = Datum.of(Datum.LOOP_TIMEOUT, 0, 1_000_000, 0);
    for (List<Datum> more :
        List.of(
            List.of(deadline, deadline),
            List.of(timeout, deadline),
            List.of(timeout, timeout),
            List.of(Datum.of(Datum.DEADLINE, 2, 0, 0)),
            List.of(Datum.of(Datum.TOKEN, 1)),
            List.of(Datum.of(Datum.TOKEN + 1, 0)))) {
      List<Datum> packet = new ArrayList<>(valid);
      packet.addAll(more);
      resize(packet);
      Expect.status(
          "a packet that ends with " + more,
          bench.burst().exchange(packet).status(),
          ErrorStatus.GENERAL_FAILURE);
      bench.servesTheNext();
    }
    List<Datum> packet = new ArrayList<>(valid);
    packet.addAll(List.of(deadline, timeout));
    resize(packet);
    Expect.status(
        "a deadline and a loop timeout", bench.burst().exchange(packet).status(), ErrorStatus.NONE);
    for (int token : new int[] {0, 1, 100, -1}) {
      List<Datum> foreign = new ArrayList<>(valid);
      foreign.set(valid.size() - 2, Datum.of(Datum.TOKEN, token));
      refused(bench, "a token " + token + " that is nobody's", foreign);
    }
  }

  private static void resize(List<Datum> packet) {
    Datum head = packet.getFirst();
    packet.set(0, Datum.of(Datum.PACKET, packet.size(), head.word(1), head.word(2), head.word(3)));
  }

  /** Packets with a fault each; what is well-formed must end as it does synchronously. */
  private void packets(Bench bench, AtomicBoolean isSilent) throws Exception {
    if (isSilent.get()) {
      throw Expect.skip("the burst left a packet without an answer before");
    }
    List<Datum> valid = bench.packet();
    if (valid.size() >= BurstSettings.DEFAULT_QUEUE_LENGTH) {
      throw Expect.skip("the packet has no room for more elements in the queue");
    }
    for (PacketFaults.Fault fault :
        PacketFaults.sample(
            valid, suite.faults(), suite.seed() + bench.decoded().example().name().hashCode())) {
      try {
        Expect.at(fault.text(), () -> refused(bench, fault.packet()));
        suite.badPackets().increment();
      } finally {
        isSilent.set(bench.burst().isSilent());
      }
    }
  }

  private static void refused(Bench bench, List<Datum> packet) throws Exception {
    Optional<RequestPacket> parsed = RequestPacket.parse(packet);
    if (parsed.isEmpty()) {
      ResultPacket result = bench.burst().exchange(packet);
      Expect.that(
          result.isBareFailure(),
          "it is malformed, and was answered with " + result + ", not with GENERAL_FAILURE alone");
    } else {
      Optional<Request> request = parsed.get().request(bench.burst().memories());
      if (request.isEmpty()) {
        refused(bench, "it", packet);
        return;
      }
      ExecutionConfig config = ExecutionConfig.DEFAULT.withMeasureTiming(parsed.get().isTimed());
      SamePath path = SamePath.of(bench.model(), request.get(), config);
      path.expectSame(bench.burst().exchange(packet));
      path.restore();
    }
    bench.servesTheNext();
  }
}
