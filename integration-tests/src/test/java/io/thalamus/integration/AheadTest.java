// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.instruction.InvokeDynamicInstruction;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code cnf/Ahead.java} writes does what the JVM would have made of the same classes. */
class AheadTest {
  /** One method, which says what each form gives. */
  private static final String FORMS =
      """
      package forms;

      import java.io.IOException;
      import java.util.ArrayList;
      import java.util.List;
      import java.util.concurrent.Callable;
      import java.util.function.*;

      public class Forms {
        private int count = 3;
        sealed interface Shape permits Round, Flat, Long {}
        record Round(double radius, float share, String name) implements Shape {}
        record Flat(int[] sides, long area, boolean isThin, byte b, short s, char c)
            implements Shape {}
        record Long(List<String> names) implements Shape {}
        record Empty() {}
        interface Joined<T extends CharSequence> { String join(T one, int two, long three); }
        interface Scaled { default double scaled(double by) { return of(by) * 2; }
          private double own(double x) { return x + 1; }
          default DoubleUnaryOperator plus() { return this::own; }
          double of(double by); }

        private static class Inner {
          private final String text;
          private Inner(String text) { this.text = text; }
          private String hidden(Object o) { return text + o; }
          Function<Object, String> made() { return this::hidden; }
        }

        private static String secret(long one, Object two) { return two + "!" + one; }
        private String outer(double x) { return count + ":" + x; }
        class Within { DoubleFunction<String> own() { return Forms.this::outer; } }

        /** Lambdas of both have the same name and use their own fields. */
        static class Base {
          private final int own = 1;
          IntSupplier base() { return () -> own + 10; }
        }

        static class Derived extends Base {
          private final int own = 2;
          IntSupplier derived() { return () -> own + 20; }
        }

        /** Captured values of many types, in classes for many lambdas. */
        static List<String> alike(int one, String two, int[] three, double four) {
          List<Supplier<String>> all = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            int round = i;
            all.add(() -> "a" + round + two);
            all.add(() -> "b" + round + three.length);
            all.add(() -> "c" + round + all.size());
            all.add(() -> "d" + one + four);
            all.add(two::trim);
            all.add(() -> "f");
            all.add(() -> "g");
            all.add(String::new);
          }
          return all.stream().map(Supplier::get).toList();
        }

        static String kind(Object o) {
          return switch (o) {
            case null -> "nothing";
            case Round r when r.radius() > 2 -> "wide " + r.name();
            case Round(double d, float f, String n) -> "round " + d + n;
            case Flat f when f.isThin() -> "thin";
            case Flat _ -> "flat";
            case int[] many -> "many " + many.length;
            case String s when s.isEmpty() -> "empty";
            case String s -> s;
            case List<?> l -> "list " + l.size();
            default -> "other " + o;
          };
        }

        public static List<String> tell() throws Exception {
          List<String> told = new ArrayList<>();
          Forms forms = new Forms();
          byte b = 1; short s = 2; char c = 'c'; long l = 1L << 40; float f = 1.5f; double d = 2.5;
          boolean z = true; int[] array = {1, 2};
          Supplier<String> all = () -> b + " " + s + c + l + f + d + z + array.length + forms.count;
          told.add(all.get());
          Supplier<Supplier<String>> nested = () -> () -> "deep" + forms.count + d;
          told.add(nested.get().get());
          ToLongFunction<Integer> widened = Integer::intValue;
          told.add("" + widened.applyAsLong(7));
          IntToDoubleFunction toDouble = i -> i / 2.0;
          told.add("" + toDouble.applyAsDouble(5));
          Function<Integer, Integer> boxed = Math::abs;
          told.add("" + boxed.apply(-4));
          ToDoubleFunction<java.lang.Long> unboxed = x -> x * 1.5;
          told.add("" + unboxed.applyAsDouble(3L));
          IntFunction<int[]> arrays = int[]::new;
          told.add("" + arrays.apply(4).length);
          Supplier<List<String>> lists = ArrayList::new;
          told.add("" + lists.get());
          Function<String, Inner> inner = Inner::new;
          told.add(inner.apply("in").made().apply(9));
          BiFunction<java.lang.Long, String, Object> secret = Forms::secret;
          told.add("" + secret.apply(6L, "six"));
          told.add(forms.new Within().own().apply(0.25));
          Consumer<List<Integer>> dropped = x -> x.add(1);
          List<Integer> numbers = new ArrayList<>();
          dropped.accept(numbers);
          Consumer<Integer> alsoDropped = numbers::add;
          alsoDropped.accept(8);
          Consumer<String> longDropped = java.lang.Long::parseLong;
          longDropped.accept("5");
          told.add("" + numbers);
          Joined<String> joined = (one, two, three) -> one + two + three;
          told.add(joined.join("a", 1, l));
          BiFunction<String, Integer, java.lang.Character> at = String::charAt;
          told.add("" + at.apply("word", 2));
          Comparator(told);
          Scaled scaled = by -> by + 0.5;
          told.add("" + scaled.scaled(1) + scaled.plus().applyAsDouble(1));
          Callable<String> fails = () -> { throw new IOException("as it must"); };
          try { fails.call(); } catch (IOException e) { told.add(e.getMessage()); }
          Supplier<String> once = () -> "same";
          told.add("" + (same() == same()) + once.get());
          Runnable r = () -> told.add("ran");
          r.run();
          for (Object o : new Object[] {null, new Round(3, 1, "w"), new Round(1, 0, "r"),
              new Flat(array, 1, true, b, s, c), new Flat(array, 1, false, b, s, c), array, "", "x",
              List.of(1), 5}) {
            told.add(kind(o));
          }
          records(told, array);
          Derived derived = new Derived();
          told.add(derived.base().getAsInt() + " " + derived.derived().getAsInt());
          told.addAll(alike(7, " t ", array, d));
          return told;
        }

        private static Runnable same() { return () -> {}; }

        private static void Comparator(List<String> told) {
          List<String> sorted = new ArrayList<>(List.of("bb", "a", "ccc"));
          sorted.sort(java.util.Comparator.comparing(String::length).reversed());
          told.add("" + sorted);
        }

        private static void records(List<String> told, int[] array) {
          Round one = new Round(-0.0, Float.NaN, null);
          told.add("" + one.equals(new Round(-0.0, Float.NaN, null))
              + one.equals(new Round(0.0, Float.NaN, null)) + one.equals("x") + one.equals(null)
              + (one.hashCode() == new Round(-0.0, Float.NaN, null).hashCode()) + one);
          Flat flat = new Flat(array, 1L << 33, true, (byte) 1, (short) 2, 'c');
          told.add("" + flat.equals(new Flat(array, 1L << 33, true, (byte) 1, (short) 2, 'c'))
              + flat.equals(new Flat(array, 1L << 34, true, (byte) 1, (short) 2, 'c'))
              + flat.equals(new Flat(array.clone(), 1L << 33, true, (byte) 1, (short) 2, 'c')));
          told.add("" + new Round(1, 2, "x").hashCode() + " " + new Long(List.of("y")).hashCode()
              + " " + new Empty().hashCode() + new Empty().equals(new Empty()));
        }
      }
      """;

  @TempDir Path folder;

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 16})
  void doesWhatTheJvmWouldHaveMade(int shared) throws Exception {
    Path classes = compile();
    List<String> before = tell(classes);
    assertEquals(32 + 1 + 24, before.size(), before.toString());
    assertTrue(invokeDynamics(classes) > 30, "nothing to write out");
    rewrite(classes, shared);
    assertEquals(before, tell(classes));
    // The texts of four records.
    assertEquals(4, invokeDynamics(classes));
  }

  @Test
  void leavesAloneWhatItHasWritten() throws Exception {
    Path classes = compile();
    rewrite(classes, 16);
    List<String> once = contents(classes).stream().map(HexFormat.of()::formatHex).toList();
    rewrite(classes, 16);
    assertEquals(once, contents(classes).stream().map(HexFormat.of()::formatHex).toList());
  }

  @Test
  void sharesClassesAndDeletesThoseOfAnEarlierRun() throws Exception {
    Path classes = compile();
    rewrite(classes, 16);
    List<String> shared = contents(classes).stream().map(HexFormat.of()::formatHex).toList();
    compile();
    rewrite(classes, 1);
    assertTrue(contents(classes).size() > shared.size() + 8, "no classes are shared");
    compile();
    rewrite(classes, 16);
    assertEquals(shared, contents(classes).stream().map(HexFormat.of()::formatHex).toList());
  }

  private Path compile() throws IOException {
    Path source = folder.resolve("Forms.java");
    Files.writeString(source, FORMS);
    Path classes = Files.createDirectories(folder.resolve("classes"));
    int status =
        ToolProvider.getSystemJavaCompiler()
            .run(
                null,
                null,
                null,
                "-XDstringConcat=inline",
                "-d",
                classes.toString(),
                source.toString());
    assertEquals(0, status);
    return classes;
  }

  private static void rewrite(Path classes, int shared) throws Exception {
    Process process =
        new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin/java").toString(),
                "-XX:TieredStopAtLevel=1",
                "-Xbootclasspath/a:" + ProjectFiles.ROOT.resolve("cnf/target/tools"),
                "-cp",
                classes.toString(),
                "Ahead",
                classes.toString(),
                Integer.toString(shared))
            .redirectErrorStream(true)
            .start();
    String said = new String(process.getInputStream().readAllBytes());
    assertEquals(0, process.waitFor(), said);
  }

  @SuppressWarnings("unchecked")
  private static List<String> tell(Path classes) throws Exception {
    try (URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()}, null)) {
      return (List<String>) loader.loadClass("forms.Forms").getMethod("tell").invoke(null);
    }
  }

  private static List<byte[]> contents(Path classes) throws IOException {
    List<byte[]> contents = new ArrayList<>();
    try (Stream<Path> files = Files.walk(classes)) {
      for (Path file : files.filter(Files::isRegularFile).sorted().toList()) {
        contents.add(Files.readAllBytes(file));
      }
    }
    return contents;
  }

  private static long invokeDynamics(Path classes) throws IOException {
    return contents(classes).stream()
        .flatMap(bytes -> ClassFile.of().parse(bytes).methods().stream())
        .flatMap(method -> method.code().stream())
        .flatMap(code -> code.elementStream())
        .filter(InvokeDynamicInstruction.class::isInstance)
        .count();
  }
}
