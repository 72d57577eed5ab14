// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.caching;

import io.thalamus.cache.CacheEngine;
import io.thalamus.memory.files.Digests;
import io.thalamus.runtime.registry.RegisteredDevice;
import java.io.IOException;
import java.io.InputStream;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import org.osgi.framework.Bundle;
import org.osgi.framework.BundleContext;
import org.osgi.framework.Constants;
import org.osgi.framework.wiring.BundleWire;
import org.osgi.framework.wiring.BundleWiring;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/**
 * Digests of the contents of bundles. Thread-safe. A bundle is read once for each time it is
 * resolved; nothing keeps it from being forgotten.
 *
 * <p>The code of a device is its bundle, all bundles that this is wired to, directly or not, the
 * runtime's own, which cuts the models that devices get, and the Java platform's version. Wirings
 * say which contents are in use: after an update without a refresh others still run with the old
 * ones, whose digest is known from before, or not to be had.
 */
@Component(service = CodeDigests.class)
public final class BundleDigests implements CodeDigests {
  private final BundleContext context;
  private final Map<BundleWiring, byte[]> known = new WeakHashMap<>();
  private final StoredDigests stored;

  /** Keeps digests for the next process; null without one. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile CacheEngine engine;

  /** Creates the digests of the bundles of this framework. */
  @Activate
  public BundleDigests(BundleContext context) {
    this(context, BundleDigests::begin, null);
  }

  BundleDigests(BundleContext context, Supplier<Instant> begin, CacheEngine engine) {
    this.context = context;
    this.engine = engine;
    this.stored =
        new StoredDigests(() -> this.engine, String.valueOf(context.getDataFile("")), begin);
  }

  private static Instant begin() {
    return ProcessHandle.current().info().startInstant().orElse(Instant.EPOCH);
  }

  @Override
  public byte[] of(RegisteredDevice device) throws IOException {
    Bundle bundle =
        device.service().bundle().isPresent()
            ? context.getBundle(device.service().bundle().getAsLong())
            : null;
    if (bundle == null) {
      throw new IOException("the bundle of " + device.id() + " has left");
    }
    Set<BundleWiring> all = new LinkedHashSet<>();
    collect(bundle.adapt(BundleWiring.class), all);
    collect(context.getBundle().adapt(BundleWiring.class), all);
    MessageDigest sha = Digests.sha256();
    Map<ByteBuffer, byte[]> fresh = new LinkedHashMap<>();
    byte[][] digests = new byte[all.size()][];
    int count = 0;
    for (BundleWiring wiring : all) {
      digests[count++] = digest(wiring, fresh);
    }
    if (!fresh.isEmpty()) {
      stored.add(fresh);
    }
    // Instead of the system bundle's contents.
    sha.update(PLATFORM.getBytes(StandardCharsets.UTF_8));
    // The same set whatever the order of the wires.
    Arrays.sort(digests, Arrays::compare);
    for (byte[] one : digests) {
      sha.update(one);
    }
    return sha.digest();
  }

  private static void collect(BundleWiring start, Set<BundleWiring> all) throws IOException {
    Deque<BundleWiring> open = new ArrayDeque<>();
    add(start, open);
    while (!open.isEmpty()) {
      BundleWiring wiring = open.pop();
      if (!all.add(wiring)) {
        continue;
      }
      List<BundleWire> wires = wiring.getRequiredWires(null);
      if (wires == null) {
        throw new IOException(wiring.getBundle().getSymbolicName() + " is not in use any more");
      }
      for (BundleWire wire : wires) {
        add(wire.getProviderWiring(), open);
      }
    }
  }

  private static void add(BundleWiring wiring, Deque<BundleWiring> open) throws IOException {
    if (wiring == null) {
      throw new IOException("a bundle is not resolved any more");
    }
    if (wiring.getBundle().getBundleId() != Constants.SYSTEM_BUNDLE_ID) {
      open.push(wiring);
    }
  }

  /**
   * Returns the digest of a bundle.
   *
   * @param fresh takes what the next process may use
   */
  private byte[] digest(BundleWiring wiring, Map<ByteBuffer, byte[]> fresh) throws IOException {
    synchronized (known) {
      byte[] before = known.get(wiring);
      if (before != null) {
        return before;
      }
    }
    Optional<ByteBuffer> stamp = stored.stamp(wiring.getBundle());
    Optional<byte[]> earlier = stamp.flatMap(stored::get);
    byte[] digest = earlier.isPresent() ? earlier.get() : read(wiring);
    // Looked at last, as an update may come in between: entries of a wiring that is in use, but not
    // the current one, are read out of the new contents, at least by Felix.
    if (!wiring.isCurrent()) {
      throw new IOException(
          wiring.getBundle().getSymbolicName()
              + " was updated, and others still use it as it was: refresh it");
    }
    synchronized (known) {
      known.put(wiring, digest);
    }
    if (earlier.isEmpty() && stamp.isPresent()) {
      fresh.put(stamp.get(), digest);
    }
    return digest;
  }

  private static byte[] read(BundleWiring wiring) throws IOException {
    List<URL> entries = wiring.findEntries("/", "*", BundleWiring.FINDENTRIES_RECURSE);
    if (entries == null) {
      throw new IOException(wiring.getBundle().getSymbolicName() + " is not in use any more");
    }
    MessageDigest sha = Digests.sha256();
    for (URL entry : entries.stream().sorted(Comparator.comparing(URL::getPath)).toList()) {
      if (entry.getPath().endsWith("/")) {
        continue;
      }
      byte[] path = entry.getPath().getBytes(StandardCharsets.UTF_8);
      byte[] content;
      try (InputStream in = open(entry)) {
        content = in.readAllBytes();
      }
      sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(path.length).array());
      sha.update(path);
      sha.update(ByteBuffer.allocate(Integer.BYTES).putInt(content.length).array());
      sha.update(content);
    }
    return sha.digest();
  }

  /**
   * Opens an entry. Felix searches the whole text of a URL for its path, and so does not find an
   * entry whose name the framework's UUID begins with, such as {@code e} of {@code
   * bundle://e6035469-8ce2-4868-b2bf-ffed5c30fe91_3.0:0/e}. The UUID does not decide where a URL of
   * a bundle leads, since its handler knows the framework: with a letter in front of it the path
   * occurs once.
   */
  @SuppressWarnings("deprecation") // URL.of would need the handler, which cannot be had
  private static InputStream open(URL entry) throws IOException {
    String text = entry.toExternalForm();
    String path = entry.getPath();
    int host = text.indexOf(entry.getHost());
    if (path.length() < 2 || text.indexOf(path) == text.length() - path.length()) {
      return entry.openStream();
    }
    char other = path.charAt(1) == 'x' ? 'y' : 'x';
    return new URL(entry, text.substring(0, host) + other + text.substring(host)).openStream();
  }
}
