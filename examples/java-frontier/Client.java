// A crawler's side of `turnstone serve DIR --frontier ADDR` in Java, with the public API and nothing else: it puts URLs,
// is lent some, tells what came of them, and says what the frontier knows.
//
//   mvn -q dependency:build-classpath -Dmdep.outputFile=classpath
//   javac -cp "$(cat classpath)" -d classes Client.java
//   java -cp "$(cat classpath):classes" Client 127.0.0.1:7071

import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.*;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import io.grpc.stub.StreamObserver;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class Client {
    private static final int URLS = 5000;
    private static final String CRAWL = "java";

    public static void main(String[] arguments) throws Exception {
        ManagedChannel channel =
                ManagedChannelBuilder.forTarget(arguments[0]).usePlaintext().build();
        try {
            run(URLFrontierGrpc.newBlockingStub(channel), URLFrontierGrpc.newStub(channel));
        } finally {
            channel.shutdownNow().awaitTermination(5, TimeUnit.SECONDS);
        }
    }

    private static void run(
            URLFrontierGrpc.URLFrontierBlockingStub calls, URLFrontierGrpc.URLFrontierStub streams)
            throws Exception {
        List<URLItem> found = new ArrayList<>();
        for (int number = 0; number < URLS; number++) {
            String url = "http://host" + number % 10 + ".example/" + number;
            URLInfo.Builder info =
                    URLInfo.newBuilder()
                            .setUrl(url)
                            .setCrawlID(CRAWL)
                            .putMetadata(
                                    "depth", StringList.newBuilder().addValues("1").build());
            found.add(
                    URLItem.newBuilder()
                            .setID(url)
                            .setDiscovered(DiscoveredURLItem.newBuilder().setInfo(info))
                            .build());
        }
        check("put", put(streams, found), URLS);
        check("put again", put(streams, found), 0);

        Iterator<URLInfo> lent =
                calls.getURLs(
                        GetParams.newBuilder()
                                .setMaxQueues(5)
                                .setMaxUrlsPerQueue(20)
                                .setDelayRequestable(60)
                                .setCrawlID(CRAWL)
                                .build());
        List<URLItem> fetched = new ArrayList<>();
        while (lent.hasNext()) {
            URLInfo info = lent.next();
            check("metadata of " + info.getUrl(), info.getMetadataOrThrow("depth").getValues(0), "1");
            KnownURLItem.Builder known =
                    KnownURLItem.newBuilder().setInfo(info).setRefetchableFromDate(0);
            fetched.add(URLItem.newBuilder().setID(info.getUrl()).setKnown(known).build());
        }
        check("lent", fetched.size(), 100);
        check("in process", stats(calls).getInProcess(), 100);
        check("told", put(streams, fetched), 100);
        Stats stats = stats(calls);
        check("in process", stats.getInProcess(), 0);
        check("size", stats.getSize(), (long) URLS - 100);
        check("completed", stats.getCountsOrThrow("completed"), 100L);
        check("queues", stats.getNumberOfQueues(), 10L);
        check(
                "listed queues",
                calls.listQueues(Pagination.newBuilder().setCrawlID(CRAWL).setSize(4).build())
                        .getValuesCount(),
                4);
        check(
                "status",
                calls.getURLStatus(
                                URLStatusRequest.newBuilder()
                                        .setUrl("http://host3.example/3")
                                        .setCrawlID(CRAWL)
                                        .build())
                        .getKnown()
                        .getInfo()
                        .getKey(),
                "host3.example");
        calls.blockQueueUntil(
                BlockQueueParams.newBuilder()
                        .setKey("host9.example")
                        .setCrawlID(CRAWL)
                        .setTime(System.currentTimeMillis() / 1000 + 600)
                        .build());
        calls.setDelay(
                QueueDelayParams.newBuilder()
                        .setKey("host1.example")
                        .setCrawlID(CRAWL)
                        .setDelayRequestable(5)
                        .build());
        int listed = 0;
        Iterator<URLItem> all =
                calls.listURLs(
                        ListUrlParams.newBuilder()
                                .setCrawlID(CRAWL)
                                .setSize(Integer.MAX_VALUE)
                                .build());
        while (all.hasNext()) {
            all.next();
            listed++;
        }
        check("listed", listed, URLS);
        check("deleted", calls.deleteCrawl(DeleteCrawlMessage.newBuilder().setValue(CRAWL).build()).getValue(), (long) URLS);
        System.out.println("all is as it should be");
    }

    private static Stats stats(URLFrontierGrpc.URLFrontierBlockingStub calls) {
        return calls.getStats(QueueWithinCrawlParams.newBuilder().setCrawlID(CRAWL).build());
    }

    /** Puts items in one stream; returns how many were taken. */
    private static int put(URLFrontierGrpc.URLFrontierStub streams, List<URLItem> items)
            throws Exception {
        AtomicInteger taken = new AtomicInteger();
        CountDownLatch done = new CountDownLatch(1);
        StreamObserver<AckMessage> acks =
                new StreamObserver<>() {
                    @Override
                    public void onNext(AckMessage ack) {
                        if (ack.getStatus() == AckMessage.Status.OK) {
                            taken.incrementAndGet();
                        }
                    }

                    @Override
                    public void onError(Throwable error) {
                        error.printStackTrace();
                        done.countDown();
                    }

                    @Override
                    public void onCompleted() {
                        done.countDown();
                    }
                };
        StreamObserver<URLItem> out = streams.putURLs(acks);
        for (URLItem item : items) {
            out.onNext(item);
        }
        out.onCompleted();
        if (!done.await(60, TimeUnit.SECONDS)) {
            throw new AssertionError("no end of acknowledgements");
        }
        return taken.get();
    }

    private static void check(String what, Object is, Object expected) {
        if (!is.equals(expected)) {
            throw new AssertionError(what + ": " + is + " instead of " + expected);
        }
    }
}
