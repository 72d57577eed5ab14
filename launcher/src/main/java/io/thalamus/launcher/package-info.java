// SPDX-License-Identifier: Apache-2.0
/**
 * The runnable container: reads the command line, starts the framework over the bundles of the
 * distribution, and runs one command or leaves the shell to the user. It shares no class with any
 * bundle but the framework's own and the JDK's.
 */
package io.thalamus.launcher;
