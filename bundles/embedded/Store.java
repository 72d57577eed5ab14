// SPDX-License-Identifier: Apache-2.0

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.ClassTransform;
import java.lang.classfile.MethodModel;
import java.lang.constant.ClassDesc;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;

/**
 * Prepares the contents of the jar. The jars below the first folder are rewritten without
 * compression: the jar that they go into compresses each as one piece, which makes it a third
 * smaller, and their classes need not be inflated one by one. Beside them a file names the digest
 * of each jar in the second folder, whose classes go into the jar. Of these classes, in the third
 * folder, those of libraries are deleted that no other one names, after methods that nobody calls.
 *
 * <p>With the finished jar as its only argument, it stores our classes there without compression: a
 * start loads a thousand of them, and took a tenth of its time to inflate them.
 */
final class Store {
  /** The name of a class of a library. */
  private static final Pattern LIBRARY =
      Pattern.compile("(com[./]google|org[./]tensorflow)[./][\\w./$]+");

  /** A class of ours that networks are opened with on most machines. */
  private static final Pattern OWN =
      Pattern.compile("io/thalamus/(?!simd/|embedded/(google|tensorflow)/).*\\.class");

  private static final Set<String> OBJECTS = Set.of("unpack", "unpackTo", "pack");

  private Store() {}

  public static void main(String[] args) throws IOException, NoSuchAlgorithmException {
    if (args.length == 1) {
      Path jar = Path.of(args[0]);
      Files.write(jar, rewritten(jar, OWN.asMatchPredicate()));
      return;
    }
    List<Path> jars;
    try (Stream<Path> files = Files.walk(Path.of(args[0]))) {
      jars = files.filter(file -> file.toString().endsWith(".jar")).toList();
    }
    for (Path jar : jars) {
      Files.write(jar, rewritten(jar, _ -> true));
    }
    Files.writeString(Path.of(args[0], "code.sha256"), digests(Path.of(args[1])));
    dropObjects(Path.of(args[2]));
    deleteUnnamed(Path.of(args[2]));
  }

  /** Drops the second form of each table of a schema, as an object of its own. */
  private static void dropObjects(Path folder) throws IOException {
    ClassFile format =
        ClassFile.of(
            ClassFile.ConstantPoolSharingOption.NEW_POOL,
            ClassFile.ClassHierarchyResolverOption.of(
                ClassHierarchyResolver.ofResourceParsing(type -> open(folder, type))
                    .orElse(ClassHierarchyResolver.defaultResolver())));
    try (Stream<Path> files = Files.walk(folder.resolve("org/tensorflow"))) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        ClassTransform dropping =
            ClassTransform.dropping(
                element ->
                    element instanceof MethodModel method
                        && OBJECTS.contains(method.methodName().stringValue()));
        Files.write(file, format.transformClass(format.parse(file), dropping));
      }
    }
  }

  private static InputStream open(Path folder, ClassDesc type) {
    String name = type.descriptorString();
    Path file = folder.resolve(name.substring(1, name.length() - 1) + ".class");
    try {
      return Files.exists(file) ? Files.newInputStream(file) : null;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Follows all names from our classes on, in whatever form they stand in a file of a class. */
  private static void deleteUnnamed(Path folder) throws IOException {
    Map<String, Path> unnamed = new HashMap<>();
    Deque<Path> named = new ArrayDeque<>();
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.filter(Files::isRegularFile).toList()) {
        String name = folder.relativize(file).toString().replace(".class", "");
        if (LIBRARY.matcher(name).matches()) {
          unnamed.put(name, file);
        } else {
          named.add(file);
        }
      }
    }
    while (!named.isEmpty()) {
      Matcher names =
          LIBRARY.matcher(Files.readString(named.remove(), StandardCharsets.ISO_8859_1));
      while (names.find()) {
        Path file = unnamed.remove(names.group().replace('.', '/'));
        if (file != null) {
          named.add(file);
        }
      }
    }
    for (Path file : unnamed.values()) {
      Files.delete(file);
    }
  }

  private static String digests(Path folder) throws IOException, NoSuchAlgorithmException {
    StringBuilder text = new StringBuilder();
    try (Stream<Path> files = Files.list(folder)) {
      for (Path jar : files.sorted().toList()) {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(jar));
        text.append(jar.getFileName())
            .append(' ')
            .append(HexFormat.of().formatHex(digest))
            .append('\n');
      }
    }
    return text.toString();
  }

  private static byte[] rewritten(Path jar, Predicate<String> isStored) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ZipFile from = new ZipFile(jar.toFile());
        ZipOutputStream to = new ZipOutputStream(bytes)) {
      for (ZipEntry entry : from.stream().toList()) {
        try (InputStream stream = from.getInputStream(entry)) {
          byte[] content = stream.readAllBytes();
          ZipEntry copy = new ZipEntry(entry.getName());
          copy.setTime(entry.getTime());
          if (isStored.test(entry.getName())) {
            CRC32 check = new CRC32();
            check.update(content);
            copy.setMethod(ZipEntry.STORED);
            copy.setSize(content.length);
            copy.setCrc(check.getValue());
          }
          to.putNextEntry(copy);
          to.write(content);
          to.closeEntry();
        }
      }
    }
    return bytes.toByteArray();
  }
}
