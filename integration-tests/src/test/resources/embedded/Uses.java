// SPDX-License-Identifier: Apache-2.0

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.Network;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Tensor;
import io.thalamus.embedded.Thalamus;
import io.thalamus.model.CacheToken;
import io.thalamus.model.Shape;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.net.URLConnection;
import java.net.URLStreamHandler;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import javax.imageio.ImageIO;

/** Programs around the embedded jar, each of which prints what it saw. */
final class Uses {
  private static final long PATIENCE_NANOS = 60_000_000_000L;

  private Uses() {}

  /**
   * Runs one program.
   *
   * @param args the program, the folder of samples, and what else it needs
   */
  public static void main(String[] args) throws Exception {
    Path samples = Path.of(args[1]);
    switch (args[0]) {
      case "all" -> all(samples);
      case "forget" -> forget(samples);
      case "two" -> two(samples);
      case "inputs" -> inputs(samples);
      case "devices" -> devices(samples, Path.of(args[2]));
      case "onnx" -> onnx();
      case "ahead" -> ahead();
      case "versions" -> versions(Path.of(args[2]));
      case "settings" -> settings(samples, Path.of(args[2]));
      case "own" -> own(samples, args);
      case "stored" -> stored(samples);
      case "bundles" -> bundles(samples, List.of(args[2], args[2], args[3]));
      case "loader" -> loader(alone(Path.of(args[2]).toUri().toURL()));
      case "nested" -> loader(new Nested(Path.of(args[2])));
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static ClassLoader alone(URL jar) {
    return new URLClassLoader(new URL[] {jar}, ClassLoader.getPlatformClassLoader());
  }

  private static int digit(Network network, Path samples, int digit) throws Exception {
    File picture = samples.resolve("digit-" + digit + ".png").toFile();
    return network.run(ImageIO.read(picture)).top(1).getFirst().index();
  }

  private static void all(Path samples) throws Exception {
    try (Thalamus thalamus = Thalamus.start();
        Network digits = thalamus.network(samples.resolve("digits.tflite"))) {
      for (int digit = 0; digit < 10; digit++) {
        System.out.print(digit(digits, samples, digit) + " ");
      }
      System.out.println(thalamus.problems());
    }
    try {
      Thalamus.start(Path.of("/dev/null/storage"));
    } catch (NeuralNetworksException e) {
      System.out.println(e.code());
    }
  }

  /** A layer of two neurons that an ONNX file describes, given once by bytes, once by path. */
  private static void onnx() throws Exception {
    byte[] weights = numbers(1, -2, 3, 4);
    byte[] layer =
        join(
            message(1, join(text(1, "x"), text(1, "w"), text(2, "sum"), text(4, "MatMul"))),
            message(1, join(text(1, "sum"), text(2, "y"), text(4, "Relu"))),
            text(2, "layer"),
            message(5, join(pair(1, 2), pair(1, 2), pair(2, 1), text(8, "w"), message(9, weights))),
            message(11, value("x")),
            message(12, value("y")));
    byte[] model = join(pair(1, 8), message(7, layer), message(8, join(text(1, ""), pair(2, 17))));
    Path file = Files.write(Path.of("layer"), model);
    try (Thalamus thalamus = Thalamus.start();
        Network bytes = thalamus.network("layer.onnx", model);
        Network path = thalamus.network(file)) {
      for (Network network : List.of(bytes, path)) {
        float[] answer = network.run(new float[] {10, 1}).output("y").toFloats();
        System.out.println(network.inputs().getFirst().text() + " " + Arrays.toString(answer));
      }
      byte[] unknown = new String(model, ISO_8859_1).replace("Relu", "Rely").getBytes(ISO_8859_1);
      System.out.println(failure(() -> thalamus.network("layer.onnx", unknown)));
      pasts(thalamus);
    }
  }

  /** What was seen before, which is nothing at first, and what is new behind it. */
  private static void pasts(Thalamus thalamus) throws Exception {
    byte[] axis = message(5, join(text(1, "axis"), pair(3, 1), new byte[] {(byte) 0xA0, 1, 2}));
    byte[] graph =
        join(
            message(1, join(text(1, "past"), text(1, "x"), text(2, "y"), text(4, "Concat"), axis)),
            text(2, "joined"),
            message(11, value("past", text(2, "n"))),
            message(11, value("x")),
            message(12, value("y", text(2, "m"))));
    byte[] model = join(pair(1, 8), message(7, graph), message(8, join(text(1, ""), pair(2, 17))));
    try (Network network = thalamus.network("joined.onnx", model)) {
      Tensor x = Tensor.of(network.inputs().get(1), 1, 2);
      for (int seen = 0; seen < 3; seen += 2) {
        Tensor past = Tensor.allocate(network.inputs().get(0), Shape.of(1, seen));
        System.out.println(
            Arrays.toString(network.run(past, x).output().toFloats())
                + " "
                + Arrays.toString(network.run(Map.of("past", past, "x", x)).output().toFloats()));
      }
    }
  }

  private static byte[] value(String name) {
    return value(name, pair(1, 2));
  }

  private static byte[] value(String name, byte[] columns) {
    byte[] shape = join(message(1, pair(1, 1)), message(1, columns));
    return join(text(1, name), message(2, message(1, join(pair(1, 1), message(2, shape)))));
  }

  private static byte[] numbers(float... values) {
    ByteBuffer bytes = ByteBuffer.allocate(4 * values.length).order(ByteOrder.LITTLE_ENDIAN);
    bytes.asFloatBuffer().put(values);
    return bytes.array();
  }

  /** A field of Protobuf that is a small number. */
  private static byte[] pair(int field, int value) {
    return new byte[] {(byte) (field << 3), (byte) value};
  }

  private static byte[] text(int field, String value) {
    return message(field, value.getBytes(ISO_8859_1));
  }

  /** A field of bytes, of up to 16,383. */
  private static byte[] message(int field, byte[] value) {
    byte tag = (byte) (field << 3 | 2);
    int length = value.length;
    return join(new byte[] {tag, (byte) (length & 0x7F | 0x80), (byte) (length >> 7)}, value);
  }

  private static byte[] join(byte[]... parts) {
    ByteArrayOutputStream joined = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      joined.writeBytes(part);
    }
    return joined.toByteArray();
  }

  private static void forget(Path samples) throws Exception {
    Thread.currentThread().interrupt();
    Thalamus thalamus = Thalamus.start();
    System.out.println(Thread.interrupted());
    Network digits = thalamus.network(samples.resolve("digits.tflite"));
    System.out.println(digit(digits, samples, 4));
  }

  private static void two(Path samples) throws Exception {
    Set<Thread> before = threads();
    Path file = samples.resolve("digits.tflite");
    Path storage = Path.of("storage");
    Thalamus first = Thalamus.start(storage);
    Thalamus second = Thalamus.start(storage);
    Network lost = first.network(file);
    Network kept = second.network(file);
    first.uninstall("cpu");
    System.out.println(ids(first) + " " + ids(second));
    first.close();
    first.close();
    System.out.println(digit(kept, samples, 7));
    System.out.println(failure(() -> digit(lost, samples, 7)));
    System.out.println(failure(first::devices));
    lost.close();
    System.out.println(failure(() -> second.network(samples.resolve("README.md"))));
    System.out.println(failure(() -> second.network("cut.tflite", cut(file))));
    second.close();
    kept.close();
    System.out.println(
        awaited(() -> before.containsAll(threads())) ? "no threads left" : threads());
  }

  private static byte[] cut(Path file) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    return Arrays.copyOf(bytes, bytes.length / 2);
  }

  private static List<String> ids(Thalamus thalamus) {
    return thalamus.devices().stream().map(device -> device.id()).toList();
  }

  private static void ahead() throws Exception {
    Thalamus.start().close();
    System.out.println(
        awaited(() -> threads().stream().noneMatch(each -> each.getName().endsWith("-probe"))));
  }

  private static Set<Thread> threads() {
    Set<Thread> threads = new HashSet<>(Thread.getAllStackTraces().keySet());
    // The JDK's own, which pictures start.
    threads.removeIf(thread -> thread.getName().startsWith("Java2D"));
    return threads;
  }

  private static void inputs(Path samples) throws Exception {
    try (Thalamus thalamus = Thalamus.start();
        InputStream stream = Files.newInputStream(samples.resolve("digits.tflite"));
        Network digits = thalamus.network("digits.tflite", stream)) {
      float[] black = new float[28 * 28];
      Tensor named = Tensor.of(digits.inputs().getFirst(), black);
      double direct = digits.run(black).output().real(1);
      System.out.println(
          direct == digits.run(Map.of(named.name(), named)).output("scores").real(1));
      System.out.println(failure(() -> digits.run(new float[5])));
      System.out.println(failure(() -> digits.run(Tensor.floats(new float[4], 2, 2))));
      System.out.println(failure(() -> digits.run(Map.of("image", named))));
    }
  }

  private static void devices(Path samples, Path npu) throws Exception {
    List<List<String>> seen = new CopyOnWriteArrayList<>();
    try (Thalamus thalamus = Thalamus.start();
        Network digits = thalamus.network(samples.resolve("digits.tflite"))) {
      Thalamus.Registration registration = thalamus.onDevices(seen::add);
      System.out.println(ids(thalamus));
      thalamus.uninstall("simd");
      System.out.println(ids(thalamus) + " " + digit(digits, samples, 5));
      thalamus.install(npu);
      thalamus.install(npu);
      System.out.println(ids(thalamus) + " " + digit(digits, samples, 6));
      registration.close();
      thalamus.uninstall("npu");
      System.out.println(seen);
      System.out.println(failure(() -> thalamus.uninstall("npu")));
      System.out.println(failure(() -> thalamus.install(samples.resolve("digits.tflite"))));
      System.out.println(failure(() -> thalamus.install(Path.of("none.jar"))));
      System.out.println(ids(thalamus));
    }
  }

  private static void versions(Path npu) throws Exception {
    try (Thalamus thalamus = Thalamus.start()) {
      thalamus.install(npu);
      thalamus.devices().forEach(it -> System.out.println(it.id() + " " + it.info().version()));
    }
  }

  /** A device whose settings change leaves and comes back with them. */
  private static void settings(Path samples, Path npu) throws Exception {
    List<Boolean> here = new CopyOnWriteArrayList<>();
    try (Thalamus thalamus = Thalamus.start();
        Network digits = thalamus.network(samples.resolve("digits.tflite"))) {
      thalamus.install(npu);
      Thalamus.Registration registration = thalamus.onDevices(ids -> here.add(ids.contains("npu")));
      thalamus.configure("io.thalamus.npu", Map.of("rows", 2, "columns", 2));
      awaited(() -> here.size() == 2);
      System.out.println(here + " " + digit(digits, samples, 6));
      thalamus.configure("io.thalamus.npu", Map.of());
      awaited(() -> here.size() == 4);
      System.out.println(here);
      registration.close();
      awaited(() -> !digits.compilation().isReplanning());
      System.out.println(
          failure(() -> thalamus.configure("io.thalamus.npu", Map.of("rows", new Object())))
              .replaceAll("java.lang.Object@[0-9a-f]+|: java.*", "..."));
    }
  }

  /** A device of the jar itself gets settings, and is replaced by a bundle, or stays. */
  private static void own(Path samples, String... args) throws Exception {
    Path cpu = Path.of(args[2]);
    List<List<String>> seen = new CopyOnWriteArrayList<>();
    try (Thalamus thalamus = Thalamus.start();
        Network digits = thalamus.network(samples.resolve("digits.tflite"))) {
      Thalamus.Registration registration = thalamus.onDevices(seen::add);
      thalamus.configure("io.thalamus.simd", Map.of("threads", "1"));
      System.out.println(seen + " " + digit(digits, samples, 1));
      System.out.println(
          failure(() -> thalamus.configure("io.thalamus.simd", Map.of("threads", "many"))));
      System.out.println(
          failure(() -> thalamus.configure("io.thalamus.runtime.devices", Map.of("failures", 0))));
      for (String broken : List.of(args[3], args[4])) {
        System.out.println(failure(() -> thalamus.install(Path.of(broken))));
      }
      System.out.println(ids(thalamus) + " " + digit(digits, samples, 2));
      thalamus.install(cpu);
      System.out.println(ids(thalamus) + " " + digit(digits, samples, 3));
      System.out.println(failure(() -> thalamus.install(Path.of(args[5]))));
      thalamus.uninstall("simd");
      awaited(() -> !digits.compilation().isReplanning());
      System.out.println(ids(thalamus) + " " + digit(digits, samples, 4));
      thalamus.uninstall("cpu");
      System.out.println(ids(thalamus));
      registration.close();
    }
  }

  /** Whatever one instance compiled and stored, the next one takes from there. */
  private static void stored(Path samples) throws Exception {
    CacheOptions cache = new CacheOptions(Path.of("compiled"), CacheToken.of(new byte[32]), "");
    CompilationOptions options = CompilationOptions.DEFAULT.with(cache);
    for (int start = 0; start < 2; start++) {
      try (Thalamus thalamus = Thalamus.start(Path.of("storage"));
          Network digits =
              Network.open(thalamus.neuralNetworks(), samples.resolve("digits.tflite"), options)) {
        System.out.println(
            digits.compilation().caching().getFirst().origin() + " " + digit(digits, samples, 8));
      }
    }
  }

  /** Whatever was compiled by a bundle is taken by the same one alone. */
  private static void bundles(Path samples, List<String> jars) throws Exception {
    CacheOptions cache = new CacheOptions(Path.of("compiled"), CacheToken.of(new byte[32]), "");
    CompilationOptions options = CompilationOptions.DEFAULT.withDevices(List.of("npu")).with(cache);
    for (String jar : jars) {
      try (Thalamus thalamus = Thalamus.start(Path.of("storage"))) {
        thalamus.install(Path.of(jar));
        try (Network digits =
            Network.open(thalamus.neuralNetworks(), samples.resolve("digits.tflite"), options)) {
          System.out.println(
              digits.compilation().caching().getFirst().origin().isRestored()
                  + " "
                  + digit(digits, samples, 8));
        }
      }
    }
  }

  /** As in a container for web applications: all of it in a loader that is to go. */
  private static void loader(ClassLoader loader) throws Exception {
    WeakReference<ClassLoader> gone = new WeakReference<>(loader);
    Class<?> type = loader.loadClass("io.thalamus.embedded.Thalamus");
    AutoCloseable thalamus = (AutoCloseable) type.getMethod("start").invoke(null);
    System.out.println(type.getMethod("problems").invoke(thalamus));
    thalamus.close();
    if (loader instanceof AutoCloseable closeable) {
      closeable.close();
    }
    thalamus = null;
    type = null;
    loader = null;
    boolean isGone =
        awaited(
            () -> {
              System.gc();
              return gone.get() == null;
            });
    System.out.println(isGone ? "collected" : "still there");
  }

  /** A loader whose jar is no file, as one that lies in another jar. */
  private static final class Nested extends ClassLoader {
    private final Map<String, byte[]> entries = new HashMap<>();

    Nested(Path jar) throws IOException {
      super(ClassLoader.getPlatformClassLoader());
      try (JarFile file = new JarFile(jar.toFile())) {
        for (JarEntry entry : Collections.list(file.entries())) {
          entries.put(entry.getName(), file.getInputStream(entry).readAllBytes());
        }
      }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      byte[] bytes = entries.get(name.replace('.', '/') + ".class");
      if (bytes == null) {
        throw new ClassNotFoundException(name);
      }
      return defineClass(name, bytes, 0, bytes.length);
    }

    @Override
    protected URL findResource(String name) {
      byte[] bytes = entries.get(name);
      URLStreamHandler handler =
          new URLStreamHandler() {
            @Override
            protected URLConnection openConnection(URL url) {
              return new URLConnection(url) {
                @Override
                public void connect() {}

                @Override
                public InputStream getInputStream() {
                  return new ByteArrayInputStream(bytes);
                }
              };
            }
          };
      try {
        return bytes == null ? null : URL.of(URI.create("nested:/" + name), handler);
      } catch (MalformedURLException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private interface Check {
    boolean holds() throws Exception;
  }

  private static boolean awaited(Check check) throws Exception {
    long end = System.nanoTime() + PATIENCE_NANOS;
    boolean holds = check.holds();
    while (!holds && System.nanoTime() - end < 0) {
      Thread.sleep(20);
      holds = check.holds();
    }
    return holds;
  }

  private interface Action {
    void run() throws Exception;
  }

  private static String failure(Action action) throws Exception {
    try {
      action.run();
      return "nothing failed";
    } catch (NeuralNetworksException e) {
      return e.code() + ": " + e.getMessage();
    } catch (IllegalStateException e) {
      return "IllegalStateException: " + e.getMessage();
    }
  }
}
