// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.memory.SharedMemory;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.osgi.framework.BundleContext;

/**
 * The command that starts the process of a device: this JVM over this distribution. A value.
 *
 * @param home of the distribution; null where there is none
 * @param storage of the container; null where there is none
 * @param options of the user, for the virtual machine
 */
record JavaCommand(String home, String storage, List<String> options) {
  private static final String VECTOR = "jdk.incubator.vector";

  /** Returns the command of the framework of a context. */
  static JavaCommand of(BundleContext context, List<String> options) {
    return new JavaCommand(
        context.getProperty("thalamus.home"),
        context.getProperty("thalamus.storage"),
        List.copyOf(options));
  }

  /**
   * Returns the command of a process that serves the device of a jar.
   *
   * @param jar in the folder of the process
   */
  ProcessBuilder serve(Path jar) throws IOException {
    Path launcher = home == null ? null : Path.of(home, "bin", "launcher.jar");
    if (launcher == null || !Files.isRegularFile(launcher)) {
      throw new IOException("a process needs the distribution, and thalamus.home names none");
    }
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    if (ModuleLayer.boot().findModule(VECTOR).isPresent()) {
      command.add("--add-modules=" + VECTOR);
    }
    Path archive = Path.of(home, "bin", "classes.jsa");
    if (Files.isReadable(archive)) {
      command.add("-XX:SharedArchiveFile=" + archive);
    }
    command.addAll(
        List.of(
            "-Xlog:disable",
            "-Xlog:all=error,cds*=off,aot*=off:stderr",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
            "-XX:-CreateCoredumpOnCrash",
            "--sun-misc-unsafe-memory-access=allow",
            "-XX:ErrorFile=" + jar.resolveSibling("crash.log"),
            "-Dstdout.encoding=UTF-8",
            "-Dstderr.encoding=UTF-8",
            "-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"),
            "-Dthalamus.home=" + home));
    String memory = System.getProperty(SharedMemory.DIRECTORY_PROPERTY);
    if (memory != null) {
      command.add("-D" + SharedMemory.DIRECTORY_PROPERTY + "=" + memory);
    }
    command.addAll(options);
    command.addAll(List.of("-jar", launcher.toString()));
    if (storage != null) {
      command.addAll(List.of("--storage", storage));
    }
    command.addAll(List.of("--isolated", jar.toString()));
    ProcessBuilder builder =
        new ProcessBuilder(command).directory(jar.getParent().toFile()).redirectErrorStream(true);
    builder.environment().clear();
    // Names of files that are not ASCII could not be read in the C locale.
    builder.environment().put("LC_ALL", "C.UTF-8");
    return builder;
  }
}
