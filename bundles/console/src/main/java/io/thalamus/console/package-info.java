// SPDX-License-Identifier: Apache-2.0
/**
 * The kit for Gogo commands. Begin at {@link io.thalamus.console.Command}: a command declares its
 * {@link io.thalamus.console.Syntax} once, gets an {@link io.thalamus.console.Invocation} and
 * returns a {@link io.thalamus.console.Result}, usually a record. Parsing, {@code --help}, {@code
 * --json}, what Tab offers, exit statuses and printing follow from these.
 *
 * <p>The only user of Commons CLI. A bundle that works without Gogo imports this package
 * optionally.
 */
@Export
@Version("1.0.0")
package io.thalamus.console;

import org.osgi.annotation.bundle.Export;
import org.osgi.annotation.versioning.Version;
