// SPDX-License-Identifier: Apache-2.0
package io.thalamus.embedded.container;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * The loader of the framework's classes, which the program never sees: it may have a framework of
 * its own. The classes of the contracts are the program's. Thread-safe; closed after its framework.
 */
final class FrameworkLoader extends URLClassLoader {
  private static final String INSIDE = "io.thalamus.embedded.framework.";

  static {
    registerAsParallelCapable();
  }

  private FrameworkLoader(URL framework, ClassLoader parent) {
    super("thalamus", new URL[] {framework}, parent);
  }

  /**
   * Makes a loader.
   *
   * @param folder gets the framework's jar
   */
  static FrameworkLoader create(Path folder) throws IOException {
    Path framework = folder.resolve("framework.jar");
    try (InputStream stream = Container.open("org.apache.felix.framework.jar")) {
      Files.copy(stream, framework);
    }
    return new FrameworkLoader(framework.toUri().toURL(), Container.class.getClassLoader());
  }

  /**
   * Starts a framework.
   *
   * @param parts what its bundles bring devices to
   * @param properties framework properties, visible to all bundles
   * @throws IOException if it does not start
   */
  DeviceBundles start(Container parts, Map<String, String> properties) throws IOException {
    try {
      return (DeviceBundles)
          loadClass(INSIDE + "FrameworkBundles")
              .getConstructor(Container.class, Map.class)
              .newInstance(parts, Map.copyOf(properties));
    } catch (InvocationTargetException e) {
      throw new IOException("the framework does not start: " + e.getCause().getMessage(), e);
    } catch (ReflectiveOperationException e) {
      throw new IOException("the jar of Thalamus is damaged: " + e, e);
    }
  }

  @Override
  protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
    if (name.equals("sun.misc.Unsafe")) {
      // Felix does without; if it finds it, the JVM prints four lines of warnings.
      throw new ClassNotFoundException(name);
    }
    boolean isInside =
        name.startsWith("org.osgi.")
            || name.startsWith("org.apache.felix.")
            || name.startsWith(INSIDE);
    if (!isInside) {
      return super.loadClass(name, resolve);
    }
    synchronized (getClassLoadingLock(name)) {
      Class<?> loaded = findLoadedClass(name);
      return loaded == null ? findClass(name) : loaded;
    }
  }

  @Override
  protected Class<?> findClass(String name) throws ClassNotFoundException {
    if (!name.startsWith(INSIDE)) {
      return super.findClass(name);
    }
    String resource = name.replace('.', '/') + ".class";
    try (InputStream stream = getParent().getResourceAsStream(resource)) {
      if (stream == null) {
        throw new ClassNotFoundException(name);
      }
      byte[] bytes = stream.readAllBytes();
      return defineClass(name, bytes, 0, bytes.length);
    } catch (IOException e) {
      throw new ClassNotFoundException(name, e);
    }
  }
}
