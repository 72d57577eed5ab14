// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationOptions;
import io.thalamus.hal.Device;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.CacheToken;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.DeviceType;
import io.thalamus.model.ExecutionPreference;
import io.thalamus.model.Model;
import io.thalamus.model.OperationCode;
import io.thalamus.model.Priority;
import io.thalamus.model.Subgraph;
import io.thalamus.runtime.fakes.CachingDevice;
import io.thalamus.runtime.fakes.Graphs;
import io.thalamus.runtime.fakes.LimitedDevice;
import io.thalamus.runtime.fakes.TestRuntime;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The tokens that devices get: AOSP's tests of them, and their bytes. */
class CacheTokenTest {
  private static final CacheToken USER = CacheToken.of(new byte[CacheToken.SIZE]);
  private static final OperationCode[] ALL = {OperationCode.ADD, OperationCode.MUL};

  @TempDir Path directory;

  /** A device that notes the tokens that it gets. */
  private final class Noting {
    private final List<CacheToken> tokens = new CopyOnWriteArrayList<>();
    private final Device device;

    Noting(String name, String version, double cost, OperationCode... operations) {
      List<OperationCode> claimed = List.of(operations);
      DeviceInfo like = LimitedDevice.info(name, DeviceType.ACCELERATOR, cost).build();
      device =
          new CachingDevice(
                  DeviceInfo.builder(name, version)
                      .type(like.type())
                      .capabilities(like.capabilities())
                      .cacheNeeds(new CacheNeeds(1, 0))
                      .build(),
                  (graph, operation) -> claimed.contains(operation.type()),
                  CachingDevice.Vault.inMemory())
              .on((call, cache) -> tokens.add(cache.token()));
    }
  }

  /**
   * The token that the first of the devices gets; the others make no difference but by claiming.
   */
  private CacheToken token(CompilationOptions options, Noting... devices) throws Exception {
    Device[] all = new Device[devices.length];
    for (int i = 0; i < all.length; i++) {
      all[i] = devices[i].device;
      devices[i].tokens.clear();
    }
    for (int repetition = 0; repetition < 3; repetition++) {
      try (TestRuntime runtime = TestRuntime.of(all)) {
        runtime.networks().compile(Graphs.addThenMul(), options);
      }
    }
    // The same compilation has the same token every time.
    assertEquals(1, Set.copyOf(devices[0].tokens).size(), devices[0].tokens.toString());
    return devices[0].tokens.getFirst();
  }

  private CompilationOptions options() {
    return options(USER);
  }

  private CompilationOptions options(CacheToken user) {
    return CompilationOptions.DEFAULT.with(new CacheOptions(directory, user, ""));
  }

  private static void assertDiffer(CacheToken... tokens) {
    assertEquals(tokens.length, Set.of(tokens).size());
  }

  private Noting simple() {
    return new Noting("test-a", "1.0", 0.5, ALL);
  }

  private Noting[] compound(String name, String version) {
    return new Noting[] {
      new Noting(name, version, 0.8, ALL), new Noting("test-z", "1", 0.5, OperationCode.MUL)
    };
  }

  private Noting[] compound() {
    return compound("test-a", "1.0");
  }

  private void assertNone(Noting... devices) throws Exception {
    Device[] all = java.util.Arrays.stream(devices).map(d -> d.device).toArray(Device[]::new);
    try (TestRuntime runtime = TestRuntime.of(all)) {
      runtime.networks().compile(Graphs.addThenMul(), CompilationOptions.DEFAULT);
    }
    for (Noting device : devices) {
      assertTrue(device.tokens.isEmpty());
    }
  }

  @Test
  void noTokenWithoutOneOfTheApplicationInASimplePlan() throws Exception {
    assertNone(simple());
  }

  @Test
  void deviceNamesDifferInASimplePlan() throws Exception {
    assertDiffer(
        token(options(), simple()), token(options(), new Noting("test-b", "1.0", 0.5, ALL)));
  }

  @Test
  void deviceVersionsDifferInASimplePlan() throws Exception {
    assertDiffer(
        token(options(), simple()), token(options(), new Noting("test-a", "1.1", 0.5, ALL)));
  }

  @Test
  void preferencesDifferInASimplePlan() throws Exception {
    List<CacheToken> tokens = new ArrayList<>();
    for (ExecutionPreference preference : ExecutionPreference.values()) {
      tokens.add(token(options().with(preference), simple()));
    }
    assertDiffer(tokens.toArray(CacheToken[]::new));
  }

  @Test
  void prioritiesDifferInASimplePlan() throws Exception {
    List<CacheToken> tokens = new ArrayList<>();
    for (Priority priority : Priority.values()) {
      tokens.add(token(options().with(priority), simple()));
    }
    assertDiffer(tokens.toArray(CacheToken[]::new));
  }

  private static CacheToken otherUser() {
    byte[] bytes = new byte[CacheToken.SIZE];
    bytes[CacheToken.SIZE - 1] = 1;
    return CacheToken.of(bytes);
  }

  @Test
  void tokensOfTheApplicationDifferInASimplePlan() throws Exception {
    assertDiffer(token(options(), simple()), token(options(otherUser()), simple()));
  }

  @Test
  void noTokenWithoutOneOfTheApplicationInACompoundPlan() throws Exception {
    assertNone(compound());
  }

  @Test
  void deviceNamesDifferInACompoundPlan() throws Exception {
    assertDiffer(token(options(), compound()), token(options(), compound("test-b", "1.0")));
  }

  @Test
  void deviceVersionsDifferInACompoundPlan() throws Exception {
    assertDiffer(token(options(), compound()), token(options(), compound("test-a", "1.1")));
  }

  @Test
  void preferencesDifferInACompoundPlan() throws Exception {
    List<CacheToken> tokens = new ArrayList<>();
    for (ExecutionPreference preference : ExecutionPreference.values()) {
      tokens.add(token(options().with(preference), compound()));
    }
    assertDiffer(tokens.toArray(CacheToken[]::new));
  }

  @Test
  void prioritiesDifferInACompoundPlan() throws Exception {
    List<CacheToken> tokens = new ArrayList<>();
    for (Priority priority : Priority.values()) {
      tokens.add(token(options().with(priority), compound()));
    }
    assertDiffer(tokens.toArray(CacheToken[]::new));
  }

  @Test
  void tokensOfTheApplicationDifferInACompoundPlan() throws Exception {
    assertDiffer(token(options(), compound()), token(options(otherUser()), compound()));
  }

  @Test
  void partitionsDiffer() throws Exception {
    Noting whole = new Noting("test-a", "1.0", 0.8, ALL);
    Noting first = new Noting("test-a", "1.0", 0.8, ALL);
    Noting second = new Noting("test-a", "1.0", 0.8, ALL);
    assertDiffer(
        token(options(), whole),
        token(options(), first, new Noting("test-z", "1", 0.5, OperationCode.MUL)),
        token(options(), second, new Noting("test-z", "1", 0.5, OperationCode.ADD)));
  }

  @Test
  void equalStepsOfTwoReferencedModelsDiffer() throws Exception {
    Noting device = new Noting("test-a", "1.0", 0.8, OperationCode.ADD);
    for (int repetition = 0; repetition < 3; repetition++) {
      try (TestRuntime runtime = TestRuntime.lenient(device.device, LimitedDevice.cpu())) {
        runtime.networks().compile(eitherSum(), options());
      }
      assertEquals(2, Set.copyOf(device.tokens).size(), device.tokens.toString());
    }
  }

  /** {@code c ? a + b : a + b}, in two graphs. */
  private static Model eitherSum() {
    Graphs.Builder g = new Graphs.Builder(1);
    int c = g.boolInput("c");
    int a = g.input("a");
    int b = g.input("b");
    int out = g.output("out");
    g.raw()
        .operation(
            OperationCode.IF, List.of(c, g.reference(0), g.reference(1), a, b), List.of(out));
    return new Model(g.build(), List.of(sum(), sum()), false);
  }

  private static Subgraph sum() {
    Graphs.Builder g = new Graphs.Builder(1);
    int a = g.input("a");
    int b = g.input("b");
    return g.op(OperationCode.ADD, a, b, g.output("r")).build();
  }

  @Test
  void buildsSettingsAndModelsDiffer() {
    byte[] zeros = new byte[32];
    byte[] ones = new byte[32];
    java.util.Arrays.fill(ones, (byte) 1);
    assertDiffer(
        identity(zeros, zeros, zeros).token(),
        identity(ones, zeros, zeros).token(),
        identity(zeros, ones, zeros).token(),
        identity(zeros, zeros, ones).token());
  }

  @Test
  void prioritiesDifferUnlessTheDeviceSharesWhatItStores() {
    for (boolean isShared : new boolean[] {false, true}) {
      Set<CacheToken> tokens = new HashSet<>();
      for (Priority priority : Priority.values()) {
        byte[] zeros = new byte[32];
        tokens.add(identity(isShared, priority, zeros, zeros, zeros).token());
      }
      assertEquals(isShared ? 1 : Priority.values().length, tokens.size());
    }
  }

  private static StepIdentity identity(byte[] code, byte[] settings, byte[] structure) {
    return identity(false, Priority.HIGH, code, settings, structure);
  }

  private static StepIdentity identity(
      boolean isShared, Priority priority, byte[] code, byte[] settings, byte[] structure) {
    return new StepIdentity(
        USER,
        2,
        List.of(5, 7),
        LimitedDevice.info("test-a", DeviceType.GPU, 1).cacheSharedByPriorities(isShared).build(),
        PrepareConfig.DEFAULT.with(ExecutionPreference.SUSTAINED_SPEED).with(priority),
        code,
        settings,
        structure);
  }

  @Test
  void theDigestIsOverAospsBytesAndThenOurs() throws Exception {
    byte[] code = new byte[32];
    code[0] = 3;
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    bytes.write(USER.toArray());
    for (int number : new int[] {2, 5, 2, 7}) {
      bytes.write(little(number));
    }
    bytes.write("test-a1".getBytes(StandardCharsets.US_ASCII));
    bytes.write(little(2));
    bytes.write(little(110));
    for (int number : new int[] {2, 6, 1}) {
      bytes.write(little(number));
    }
    bytes.write(code);
    bytes.write(new byte[64]);
    assertEquals(
        CacheToken.of(MessageDigest.getInstance("SHA-256").digest(bytes.toByteArray())),
        identity(code, new byte[32], new byte[32]).token());
  }

  private static byte[] little(int value) {
    return ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt(value).array();
  }

  @Test
  void namesSpellTheLowNibbleFirst() {
    byte[] bytes = new byte[CacheToken.SIZE];
    bytes[0] = (byte) 0xF1;
    bytes[31] = 0x0A;
    String name = CacheEntry.name(CacheToken.of(bytes));
    assertEquals("BP" + "A".repeat(60) + "KA", name);
    assertEquals(CacheToken.of(bytes), CacheEntry.token(name));
  }
}
