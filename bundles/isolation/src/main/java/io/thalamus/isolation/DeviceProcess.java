// SPDX-License-Identifier: Apache-2.0
package io.thalamus.isolation;

import io.thalamus.burst.BurstService;
import io.thalamus.hal.DeviceException;
import io.thalamus.isolation.proxy.CacheTransfers;
import io.thalamus.isolation.proxy.HostMessages;
import io.thalamus.isolation.proxy.RemoteDevice;
import io.thalamus.memory.files.FileLocks;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * The process of a device, from its start to its end. Thread-safe. Owns the process, its folder,
 * the connection to it and the thread that reads its output; none of them outlives {@link #close}.
 */
final class DeviceProcess implements AutoCloseable {
  /** The bytes by which the process shows that it is the one that was started. */
  static final int SECRET_SIZE = 32;

  /** The name of the socket in the folder of the process. */
  static final String SOCKET = "socket";

  private static final System.Logger LOG = System.getLogger(DeviceProcess.class.getPackageName());

  /** The longest path of a socket that the kernel takes, less a little. */
  private static final int LONGEST_SOCKET_PATH = 100;

  /** The beginning of the names of folders; the number of their container follows. */
  private static final String PREFIX = "thalamus-isolated-";

  /** The name of the file that a container holds the lock of. */
  private static final String LOCK = "lock";

  private static final long PAUSE_MILLIS = 5;
  private static final long END_SECONDS = 5;

  private final String name;
  private final Path folder;
  private final FileChannel lock;
  private final Process process;
  private final ProcessOutput output;
  private final CacheTransfers caches;
  private final CountDownLatch end = new CountDownLatch(1);
  private volatile String reason = "";
  private HostMessages host;
  private RemoteDevice device;
  private HostMessages.Ready ready;

  private DeviceProcess(
      String name, Path folder, FileChannel lock, Process process, Consumer<String> log) {
    this.lock = lock;
    this.name = name;
    this.folder = folder;
    this.process = process;
    this.output = new ProcessOutput(name, process, log);
    this.caches = new CacheTransfers(folder);
  }

  /** Makes a folder that nobody but this user can enter, and removes those of ended containers. */
  static Path newFolder() throws IOException {
    String own = PREFIX + ProcessHandle.current().pid() + "-";
    Path folder =
        Files.createTempDirectory(
            own,
            PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
    prune(folder.getParent(), own);
    if (folder.resolve(SOCKET).toString().length() > LONGEST_SOCKET_PATH) {
      Folders.delete(folder);
      throw new IOException(
          folder.getParent()
              + " is too long a name for sockets; name another with -Djava.io.tmpdir=DIR");
    }
    return folder;
  }

  /**
   * Removes the folders of containers that ended before they could, which is when nobody holds
   * their locks. Own ones are left alone: closing any handle of a file gives back its locks.
   */
  private static void prune(Path parent, String own) {
    try (DirectoryStream<Path> folders = Files.newDirectoryStream(parent, PREFIX + "*")) {
      for (Path folder : folders) {
        Path lock = folder.resolve(LOCK);
        if (!folder.getFileName().toString().startsWith(own) && Files.isWritable(lock)) {
          try (FileChannel channel = FileChannel.open(lock, StandardOpenOption.WRITE)) {
            if (FileLocks.tryLock(channel, 0, Long.MAX_VALUE, false).isPresent()) {
              Folders.delete(folder);
            }
          }
        }
      }
    } catch (IOException | DirectoryIteratorException e) {
      LOG.log(Level.DEBUG, "old folders stay: {0}", e.getMessage());
    }
  }

  /**
   * Starts a process and waits until its device is ready.
   *
   * @param name of the device, for people
   * @param folder of the process, which becomes its own
   * @param log gets what the process prints, line by line
   * @throws IOException where it does not start, or its device is not ready in time
   */
  static DeviceProcess start(
      String name,
      Path folder,
      ProcessBuilder command,
      Consumer<String> log,
      Supplier<Optional<BurstService>> bursts,
      IsolatedBundle.Plan plan)
      throws IOException, DeviceException, InterruptedException {
    long deadline = System.nanoTime() + plan.start().toNanos();
    UnixDomainSocketAddress address = UnixDomainSocketAddress.of(folder.resolve(SOCKET));
    DeviceProcess started = null;
    boolean isReady = false;
    try (ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
      server.bind(address);
      Files.setPosixFilePermissions(
          address.getPath(), PosixFilePermissions.fromString("rw-------"));
      byte[] secret = new byte[SECRET_SIZE];
      new SecureRandom().nextBytes(secret);
      FileChannel lock = lock(folder);
      boolean isRunning = false;
      try {
        started = new DeviceProcess(name, folder, lock, command.start(), log);
        isRunning = true;
      } finally {
        if (!isRunning) {
          lock.close();
        }
      }
      started.output.start();
      started.tell(secret);
      started.connect(server, secret, deadline);
      started.open(plan.limits(), bursts, deadline);
      isReady = true;
      return started;
    } finally {
      Files.deleteIfExists(address.getPath());
      if (!isReady && started != null) {
        started.close();
      }
      if (!isReady) {
        Folders.delete(folder);
      }
    }
  }

  /** Returns a handle that holds the lock of a folder until it is closed. */
  private static FileChannel lock(Path folder) throws IOException {
    FileChannel channel =
        FileChannel.open(folder.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    if (FileLocks.tryLock(channel, 0, Long.MAX_VALUE, false).isEmpty()) {
      channel.close();
      throw new IOException("somebody else holds the lock of " + folder);
    }
    return channel;
  }

  /** Hands the secret over where no other process can read it. */
  private void tell(byte[] secret) throws IOException {
    String line = HexFormat.of().formatHex(secret) + "\n";
    process.getOutputStream().write(line.getBytes(StandardCharsets.US_ASCII));
    process.getOutputStream().flush();
  }

  private void connect(ServerSocketChannel server, byte[] secret, long deadline)
      throws IOException, InterruptedException {
    server.configureBlocking(false);
    while (true) {
      SocketChannel channel = server.accept();
      if (channel != null && knows(channel, secret, deadline)) {
        channel.configureBlocking(true);
        host = new HostMessages(channel, "thalamus-isolated-" + name, caches, this::ended);
        host.start();
        return;
      }
      pause(deadline);
    }
  }

  private void pause(long deadline) throws IOException, InterruptedException {
    if (!process.isAlive()) {
      throw new IOException("its process ended before its device was ready: " + exit());
    }
    if (System.nanoTime() - deadline > 0) {
      throw new IOException("its process did not bring its device in time");
    }
    Thread.sleep(PAUSE_MILLIS);
  }

  /** Returns whether the other end of a socket knows the secret; closes the socket where not. */
  private boolean knows(SocketChannel channel, byte[] secret, long deadline)
      throws IOException, InterruptedException {
    channel.configureBlocking(false);
    ByteBuffer received = ByteBuffer.allocate(SECRET_SIZE);
    while (received.hasRemaining()) {
      if (channel.read(received) < 0) {
        channel.close();
        return false;
      }
      if (received.hasRemaining()) {
        pause(deadline);
      }
    }
    if (!MessageDigest.isEqual(received.array(), secret)) {
      LOG.log(Level.WARNING, "isolated {0}: somebody else came to its socket", name);
      channel.close();
      return false;
    }
    return true;
  }

  private void open(
      RemoteDevice.Limits limits, Supplier<Optional<BurstService>> bursts, long deadline)
      throws IOException, DeviceException, InterruptedException {
    try {
      ready = host.ready().get(deadline - System.nanoTime(), TimeUnit.NANOSECONDS);
      device = RemoteDevice.open(ready.info(), host, folder, limits, bursts);
    } catch (ExecutionException e) {
      throw new IOException(e.getCause().getMessage(), e);
    } catch (TimeoutException e) {
      throw new IOException("its process did not bring its device in time", e);
    }
  }

  private void ended(String why) {
    reason = why;
    // A process that lost its container ends by itself; one that cannot must not stay.
    process.destroyForcibly();
    end.countDown();
  }

  RemoteDevice device() {
    return device;
  }

  Map<String, Object> properties() {
    return ready.properties();
  }

  long pid() {
    return process.pid();
  }

  /** Waits until the process has ended, or is to end. */
  void await() throws InterruptedException {
    end.await();
  }

  /** Returns why a process has ended, for people. */
  String reason() throws InterruptedException {
    return process.waitFor(END_SECONDS, TimeUnit.SECONDS) ? reason + ", " + exit() : reason;
  }

  private String exit() {
    if (process.isAlive()) {
      return "it still runs";
    }
    int status = process.exitValue();
    return status > 128 ? "by signal " + (status - 128) : "with status " + status;
  }

  /** Ends the process and waits for its end; what it held is given back. */
  @Override
  public void close() {
    process.destroyForcibly();
    // A timeout of a future would start a thread of the JVM that holds this class loader for good.
    boolean isInterrupted = false;
    try {
      if (!process.waitFor(END_SECONDS, TimeUnit.SECONDS)) {
        LOG.log(Level.WARNING, "isolated {0}: process {1} does not end", name, process.pid());
      }
    } catch (InterruptedException e) {
      isInterrupted = true;
    }
    if (host != null) {
      host.close();
    }
    output.close();
    if (device != null) {
      device.close();
    }
    caches.close();
    try {
      lock.close();
      Folders.delete(folder);
    } catch (IOException e) {
      LOG.log(Level.WARNING, "isolated {0}: {1} stays: {2}", name, folder, e.getMessage());
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
